export { attemptedSchema, cancelledSchema, paidSchema } from './command-schemas';
export { judgeCommand } from './judge-command';
export { OrderCommandsController } from './order-commands.controller';

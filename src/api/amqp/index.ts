export { judgeCommand } from './judge-command';
export { OrderCommandsController } from './order-commands.controller';

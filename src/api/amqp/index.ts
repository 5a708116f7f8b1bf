export { CommandRejectedError } from './command-rejected-error';
export { judgeCommand } from './judge-command';
export { OrderCommandsController } from './order-commands.controller';

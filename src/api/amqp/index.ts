export { COMMAND_SCHEMAS, REQUEST_SCHEMAS } from './command-schemas';
export { judgeCommand } from './judge-command';
export { OrderCommandsController } from './order-commands.controller';
export { PlaceCommand } from './place-command';
export { RequestsController } from './requests.controller';
export { StockCommandsController } from './stock-commands.controller';

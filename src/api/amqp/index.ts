export { COMMAND_SCHEMAS, REQUEST_SCHEMAS, judgeCommand } from './judge-command';
export {
  OrderCommandsController,
  PlaceCommand,
  RequestsController,
  StockCommandsController,
} from './commands.controller';

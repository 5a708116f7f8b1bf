export { type Server, loadCommandConfig, openCommandContext } from './command-context';
export { type Environment, loadConfig, type ServiceConfig } from './config';
export { createService, startService, openDatabase } from './create-service';

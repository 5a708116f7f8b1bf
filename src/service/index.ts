export { loadConfig } from './config';
export { createService, startService } from './create-service';

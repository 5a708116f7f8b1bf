import { DataSource } from 'typeorm';
import { type ServiceConfig } from './config';
import { dataSourceOptions } from './data-source-options';

const POOL_SIZE = 4;

/**
 * Connects to the database as the service does, for a command: at once or not at all, because a person waits. Without
 * prepared statements, because a command runs each statement once. Call `destroy` in the end.
 */
export function openDatabase(database: ServiceConfig['database']): Promise<DataSource> {
  return new DataSource(dataSourceOptions({ ...database, poolSize: POOL_SIZE, prepares: false })).initialize();
}

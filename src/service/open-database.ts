import { DataSource, type DataSourceOptions } from 'typeorm';
import { type ServiceConfig } from './config';
import { typeOrmOptions } from './type-orm-options';

const POOL_SIZE = 4;

/**
 * Connects to the database as the service does, for a command that needs tables and no use case. Without prepared
 * statements, because a command runs each statement once. Call `destroy` in the end.
 */
export function openDatabase(database: ServiceConfig['database']): Promise<DataSource> {
  const { retryAttempts, retryDelay, toRetry, verboseRetryLog, ...options } = typeOrmOptions({
    ...database,
    poolSize: POOL_SIZE,
    prepares: false,
  });
  void [retryAttempts, retryDelay, toRetry, verboseRetryLog];
  return new DataSource(options as DataSourceOptions).initialize();
}

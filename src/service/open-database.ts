import { DataSource, type DataSourceOptions } from 'typeorm';
import { connectionOptions, PLAN_BY_INDEX, type PreparingClient } from '../database';
import { type ServiceConfig } from './config';

const POOL_SIZE = 4;

/**
 * Connects to the database as the service does, for a command: at once or not at all, because a person waits. Without
 * prepared statements, because a command runs each statement once. Call `destroy` in the end.
 */
export function openDatabase(database: ServiceConfig['database']): Promise<DataSource> {
  return new DataSource(dataSourceOptions({ ...database, poolSize: POOL_SIZE, prepares: false })).initialize();
}

const PLANNING = { onConnect: (client: PreparingClient) => client.query(PLAN_BY_INDEX) };

/** How the service connects to PostgreSQL. */
export function dataSourceOptions({ url, poolSize, prepares }: ServiceConfig['database']): DataSourceOptions {
  const options = connectionOptions({ url, poolSize, preparedStatements: prepares });
  return { ...options, extra: { ...(options.extra as object), ...(prepares ? PLANNING : {}) } };
}

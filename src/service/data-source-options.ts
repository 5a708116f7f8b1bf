import { type DataSourceOptions } from 'typeorm';
import { type ServiceConfig } from './config';
import { connectionOptions, PLAN_BY_INDEX, type PreparingClient } from '../database';

const PLANNING = { onConnect: (client: PreparingClient) => client.query(PLAN_BY_INDEX) };

/** How the service connects to PostgreSQL. */
export function dataSourceOptions({ url, poolSize, prepares }: ServiceConfig['database']): DataSourceOptions {
  const options = connectionOptions({ url, poolSize, preparedStatements: prepares });
  return { ...options, extra: { ...(options.extra as object), ...(prepares ? PLANNING : {}) } };
}

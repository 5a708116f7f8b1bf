import { type DataSourceOptions } from 'typeorm';
import { type ServiceConfig } from './config';
import { PLAN_BY_INDEX, PreparingClient, ResilientClient } from '../database';

/** Also limits the wait for a connection of the pool. Without it, requests wait forever while the pool is exhausted. */
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * Longer than a statement may run on the server, so without an answer by then the server is silent. Each transaction
 * sets the server's limits, because poolers reject them as connection options.
 */
const ANSWER_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 5_000;

const PREPARING = { Client: PreparingClient, onConnect: (client: PreparingClient) => client.query(PLAN_BY_INDEX) };

/** How the service connects to PostgreSQL. */
export function dataSourceOptions({ url, poolSize, prepares }: ServiceConfig['database']): DataSourceOptions {
  return {
    type: 'postgres',
    url,
    poolSize,
    entities: [],
    synchronize: false,
    applicationName: 'nestjs-order-timeout',
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    extra: {
      ...(prepares ? PREPARING : { Client: ResilientClient }),
      query_timeout: ANSWER_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    },
  };
}

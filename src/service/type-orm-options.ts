import { type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { type ServiceConfig } from './config';
import { isDatabaseUnavailable, PLAN_BY_INDEX, PreparingClient, ResilientClient } from '../database';

/** 10 tries, 3 s apart, are enough for a database that starts at the same time. */
const CONNECT_TRIES = 10;
const CONNECT_PAUSE_MS = 3_000;
/** Also limits the wait for a connection of the pool. Without it, requests wait forever while the pool is exhausted. */
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * Longer than a statement may run on the server, so without an answer by then the server is silent. Each transaction
 * sets the server's limits, because poolers reject them as connection options.
 */
const ANSWER_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 5_000;

const PREPARING = { Client: PreparingClient, onConnect: (client: PreparingClient) => client.query(PLAN_BY_INDEX) };

/** How the service connects to PostgreSQL. It retries an unavailable server, but not a wrong password. */
export function typeOrmOptions({ url, poolSize, prepares }: ServiceConfig['database']): TypeOrmModuleOptions {
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
    retryAttempts: CONNECT_TRIES,
    retryDelay: CONNECT_PAUSE_MS,
    toRetry: isDatabaseUnavailable,
    verboseRetryLog: true,
  };
}

import { type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { type ServiceConfig } from './config';
import { isDatabaseUnavailable, PLAN_BY_INDEX, PreparingClient, ResilientClient } from '../database';

/** Ten tries, three seconds apart: a database that starts beside us is there by then. */
const CONNECT_TRIES = 10;
const CONNECT_PAUSE_MS = 3_000;
/** For a connection of the pool too; without it a request would wait for ever while the pool is used up. */
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * Longer than the server may take for one of our statements, so no answer by then means that the server is silent. The server's
 * own limits are set in each transaction, because poolers refuse them as options of the connection.
 */
const ANSWER_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 5_000;

const PREPARING = { Client: PreparingClient, onConnect: (client: PreparingClient) => client.query(PLAN_BY_INDEX) };

/** How the service connects to PostgreSQL. A wrong password is not tried again, a server that is away is. */
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

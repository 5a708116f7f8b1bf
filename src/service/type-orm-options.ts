import { type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { type ServiceConfig } from './config';
import { connectionOptions, isDatabaseUnavailable, PLAN_BY_INDEX, type PreparingClient } from '../database';

/** 10 tries, 3 s apart, are enough for a database that starts at the same time. */
const CONNECT_TRIES = 10;
const CONNECT_PAUSE_MS = 3_000;

const PLANNING = { onConnect: (client: PreparingClient) => client.query(PLAN_BY_INDEX) };

/** How the service connects to PostgreSQL. It retries an unavailable server, but not a wrong password. */
export function typeOrmOptions({ url, poolSize, prepares }: ServiceConfig['database']): TypeOrmModuleOptions {
  const { extra, ...options } = connectionOptions({ url, poolSize, preparedStatements: prepares });
  return {
    ...options,
    extra: { ...(extra as object), ...(prepares ? PLANNING : {}) },
    retryAttempts: CONNECT_TRIES,
    retryDelay: CONNECT_PAUSE_MS,
    toRetry: isDatabaseUnavailable,
    verboseRetryLog: true,
  };
}

import { type DataSourceOptions } from 'typeorm';
import { packageVersion } from '../errors';
import { type ResolvedDatabaseOptions } from './database-options';
import { PreparingClient } from './preparing-client';
import { ResilientClient } from './resilient-client';

/** How the sessions of an instance are called; the release follows, behind a slash. */
export const APPLICATION = 'nestjs-order-timeout';
/** Also limits the wait for a connection of the pool. Without it, requests wait forever while the pool is exhausted. */
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * Longer than a statement may run on the server, so without an answer by then the server is silent. Each transaction
 * sets the server's limits, because poolers reject them as connection options.
 */
const ANSWER_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 5_000;

/** Options of a DataSource of our own, which survives a server that stops, falls silent, or fails over. */
export function connectionOptions({
  url,
  poolSize,
  preparedStatements,
}: ResolvedDatabaseOptions): Extract<DataSourceOptions, { type: 'postgres' }> {
  return {
    type: 'postgres',
    url,
    poolSize,
    entities: [],
    synchronize: false,
    applicationName: `${APPLICATION}/${packageVersion()}`,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    extra: {
      Client: preparedStatements ? PreparingClient : ResilientClient,
      query_timeout: ANSWER_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    },
  };
}

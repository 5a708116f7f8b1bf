import { type DataSourceOptions } from 'typeorm';
import {
  packageVersion,
  findRangeProblems,
  findUnknownOptions,
  withoutUndefined,
  InvalidOptionsError,
} from '../errors';
import { PreparingClient } from './own-connection';
import { ResilientClient, findSessionProblem, parseServerUrls } from './resilient-client';

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

/** A connection of the module's own. */
export interface DatabaseOptions {
  /** `postgres://user:password@host:5432/database`. It may name several servers, separated by commas. */
  readonly url: string;
  /** Most connections. @default 20 */
  readonly poolSize?: number;
  /** Whether statements are prepared, once per connection. False behind a pooler that pools by transaction. @default true */
  readonly preparedStatements?: boolean;
}

export type ResolvedDatabaseOptions = Required<DatabaseOptions>;

const NAMES = Object.keys({ url: true, poolSize: true, preparedStatements: true } satisfies Record<
  keyof DatabaseOptions,
  true
>);

const MAX_POOL_SIZE = 1_000;

/** @param given the URL alone, or with options. */
export function resolveDatabaseOptions(given: string | DatabaseOptions): ResolvedDatabaseOptions {
  const options = typeof given === 'string' ? { url: given } : given;
  return { poolSize: 20, preparedStatements: true, ...withoutUndefined(options) };
}

/** Every problem, without the URL, which holds a password. */
export function findDatabaseProblems(options: ResolvedDatabaseOptions): string[] {
  const { url, poolSize, preparedStatements } = options;
  const servers = typeof url === 'string' ? parseServerUrls(url) : undefined;
  const session = servers && findSessionProblem(servers);
  return [
    ...findUnknownOptions(options, NAMES, 'database.'),
    ...(servers ? [] : ['database.url must be a URL such as postgres://user:password@host:5432/database']),
    ...(session === undefined ? [] : [`database.url: ${session}`]),
    ...findRangeProblems('database.poolSize', poolSize, [2, MAX_POOL_SIZE]),
    ...(typeof preparedStatements === 'boolean' ? [] : ['database.preparedStatements must be true or false']),
  ];
}

const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** Key words that PostgreSQL takes for a name only in quotes. */
const RESERVED = new Set(
  (
    'all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation ' +
    'column concurrently constraint create cross current_catalog current_date current_role current_schema current_time ' +
    'current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze ' +
    'from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit ' +
    'localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references ' +
    'returning right select session_user similar some symmetric system_user table tablesample then to trailing true ' +
    'union unique user using variadic verbose when where window with'
  ).split(' '),
);

/** What is wrong with a schema name; it is part of SQL text, so only plain lower-case names are let through. */
export function findSchemaNameProblems(schema: string): string[] {
  if (SCHEMA_NAME.test(schema) && !RESERVED.has(schema) && !schema.startsWith('pg_')) return [];
  const got = JSON.stringify(schema);
  return [`schema must match ${SCHEMA_NAME.source} and be no key word of SQL (got ${got}), e.g. "order_timeout"`];
}

/** @throws InvalidOptionsError when it cannot be a schema name. */
export function validateSchemaName(schema: string): string {
  const problems = findSchemaNameProblems(schema);
  if (problems.length > 0) throw new InvalidOptionsError('database', problems);
  return schema;
}

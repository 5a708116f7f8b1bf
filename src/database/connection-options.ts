import { type DataSourceOptions } from 'typeorm';
import { z } from 'zod';
import { integer, optionsOf, packageVersion, parseOptions } from '../errors';
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

type ResolvedDatabaseOptions = Required<DatabaseOptions>;

const URL_WANTED = 'must be a URL such as postgres://user:password@host:5432/database';

/** The messages must not contain the URL, which holds the password. */
export const serverUrl = z.string(URL_WANTED).superRefine((url, context) => {
  const servers = parseServerUrls(url);
  const problem = servers ? (findEscapeProblem(servers.urls) ?? findSessionProblem(servers)) : URL_WANTED;
  if (problem !== undefined) context.addIssue(problem);
});

/** TypeORM throws "URI malformed" for it. */
function findEscapeProblem([url = '']: readonly string[]): string | undefined {
  const { username, password } = new URL(url);
  try {
    decodeURIComponent(`${username} ${password}`);
    return undefined;
  } catch {
    return 'must have each "%" of its user and password written as %25';
  }
}

export const poolSize = integer(2, 1_000).default(20);

/** The URL alone will do. */
export const databaseOptions = z.preprocess(
  (given) => (typeof given === 'string' ? { url: given } : given),
  optionsOf({
    url: serverUrl,
    poolSize,
    preparedStatements: z.boolean('must be true or false').default(true),
  } satisfies Record<keyof DatabaseOptions, z.ZodType>),
);

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

/** A schema's name is part of SQL text, so only plain lower-case names are let through. */
export const schemaName = z.custom<string>(
  (given) => typeof given === 'string' && SCHEMA_NAME.test(given) && !RESERVED.has(given) && !given.startsWith('pg_'),
  {
    error: ({ input }) =>
      `must match ${SCHEMA_NAME.source} and be no key word of SQL (got ${JSON.stringify(input)}), e.g. "order_timeout"`,
    abort: false,
  },
);

/** @throws InvalidOptionsError when it cannot be a schema name. */
export function validateSchemaName(schema: string): string {
  return parseOptions('database', optionsOf({ schema: schemaName }), { schema }).schema;
}

import { findUnknownOptions, withoutUndefined } from '../errors';
import { findSessionProblem, parseServerUrls } from './server-urls';

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
    ...(Number.isInteger(poolSize) && poolSize >= 2 && poolSize <= MAX_POOL_SIZE
      ? []
      : [`database.poolSize must be an integer from 2 to ${MAX_POOL_SIZE} (got ${String(poolSize)})`]),
    ...(typeof preparedStatements === 'boolean' ? [] : ['database.preparedStatements must be true or false']),
  ];
}

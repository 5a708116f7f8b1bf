import { type DataSource, type QueryRunner, type EntityManager } from 'typeorm';
import { type ClientConfig, DatabaseError } from 'pg';
import { inTime, SystemClock } from '../clock';
import { CodedError } from '../errors';
import { cancel, discard, drop, hangUp, type PooledClient, ResilientClient } from './resilient-client';
import { NoAnswerError, ReadOnlySessionError } from './errors';
import {
  isDiskFull,
  isGivenUp,
  isOutOfIds,
  isSchemaUnusable,
  isServerRefusing,
  isSessionLost,
  noteConnectFailure,
} from './database-errors';

/** The system clock, because it limits real sockets. */
const clock = new SystemClock();

/** A pool without a limit of its own would wait forever for a connection. */
const CHECKOUT_MS = 10_000;

const NO_CONNECTION = `the pool has given no connection within ${CHECKOUT_MS} ms; nothing was sent (docs/database.md, "Your pool")`;

/** Gives the server time to cancel first, because it says why. */
const ANSWER_MARGIN_MS = 1_000;

/** Also behind another statement of the same message. */
const COMMITS = /\bCOMMIT\b/i;

/** Longest time for one of our statements. They take milliseconds; one that takes longer is tried again. */
export const STATEMENT_MS = 8_000;

/**
 * Runs `work` on a connection of its own. Nothing waits forever, whatever the options of the host's pool: a missing
 * connection or answer is a NoAnswerError. A connection that cannot be used again is closed instead of released.
 *
 * @param statementMs what the server may spend on a statement; 0: there is no limit
 */
export async function onOwnConnection<T>(
  dataSource: DataSource,
  statementMs: number,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const { runner, client } = await checkOut(dataSource);
  if (statementMs > 0) limitStatements(runner, client, statementMs + ANSWER_MARGIN_MS);
  try {
    return await work(runner);
  } catch (error) {
    if (isSessionLost(error)) discard(client);
    noteFailure(dataSource, error);
    throw error;
  } finally {
    await runner.release();
  }
}

interface OwnConnection {
  readonly runner: QueryRunner;
  readonly client: PooledClient | undefined;
}

/** Takes a connection of the pool that may be trusted. What cannot be is closed; new ones are trusted, so this ends. */
async function checkOut(dataSource: DataSource): Promise<OwnConnection> {
  for (;;) {
    const runner = dataSource.createQueryRunner();
    const client = await connect(runner);
    if (!isDoubtful(client)) return { runner, client };
    drop(client);
    await runner.release();
  }
}

async function connect(runner: QueryRunner): Promise<PooledClient | undefined> {
  const connecting = runner.connect() as Promise<PooledClient | undefined>;
  try {
    const late = (): Error => new NoAnswerError(NO_CONNECTION);
    return await inTime(clock, CHECKOUT_MS, connecting, late);
  } catch (error) {
    noteConnectFailure(error);
    noteFailure(runner.connection, error);
    // A connection that comes late goes back. Released before it came, it would never return to the pool.
    void connecting.then(() => runner.release()).catch(() => undefined);
    throw error;
  }
}

/** Whatever is sent, by handlers too, must be answered in time. */
function limitStatements(runner: QueryRunner, client: PooledClient | undefined, limitMs: number): void {
  interceptQueries(runner, (send) => async (sql, ...rest) => {
    const sentAtMs = clock.monotonic();
    const limit = clock.after(limitMs, () => giveUp(client, { sql: String(sql), sentAtMs, limitMs }));
    try {
      const result = await send(sql, ...rest);
      hasAnswered(client);
      return result;
    } finally {
      limit.cancel();
    }
  });
}

interface Unanswered {
  readonly sql: string;
  /** On the monotonic clock. */
  readonly sentAtMs: number;
  readonly limitMs: number;
}

/**
 * A COMMIT is never canceled. It may wait for a synchronous standby, and PostgreSQL ends that wait at a cancel: the commit
 * becomes visible, others answer and publish what they see, and a failover loses it. Without the cancel it stays in doubt,
 * and invisible, until the standby has it. A write that commits by itself does so as well, so only what may happen twice is
 * written like that.
 */
function giveUp(client: PooledClient | undefined, { sql, sentAtMs, limitMs }: Unanswered): void {
  if (!client) return;
  wasSilent(client, sentAtMs);
  if (!COMMITS.test(sql)) cancel(client);
  const doubt = 'the statement may have been executed, so look before you repeat it by hand';
  hangUp(client, new NoAnswerError(`the database has not answered within ${limitMs} ms; ${doubt}`));
}

/**
 * Runs one statement outside of a transaction, in one round trip. Without an answer within nine seconds, it is canceled on
 * the server and its connection is closed; see `onOwnConnection`. A canceled write may be visible and lost again in a
 * failover: a write that is acknowledged to somebody needs `ownTransaction`.
 */
export function ownQuery<T>(dataSource: DataSource, sql: string, parameters?: unknown[]): Promise<T> {
  return onOwnConnection(dataSource, STATEMENT_MS, (runner) => runner.query(sql, parameters) as Promise<T>);
}

/**
 * Whether the database answers and takes writes: during a failover a standby answers, too, a full disk lets reads through,
 * and so does a primary without its synchronous standby. Never rejects.
 */
export function isDatabaseWritable(dataSource: DataSource): Promise<boolean> {
  if (isRefusingWork(dataSource)) return Promise.resolve(false);
  return canWrite(dataSource).catch(() => false);
}

/**
 * The commits that have waited for a synchronous standby for 2 s, where one is wanted. They do so until it has them, even
 * if their instance is gone. A COMMIT is short, while a long write that commits by itself may wait for a moment only.
 */
export const UNREPLICATED = `pg_stat_activity
 WHERE datname = current_database() AND wait_event = 'SyncRep' AND query ILIKE '%COMMIT%'
   AND query_start < clock_timestamp() - interval '2 s'`;

const SQL = `
  SELECT current_setting('transaction_read_only') = 'off' AS can_write,
         current_setting('synchronous_standby_names') <> '' AND EXISTS (SELECT FROM ${UNREPLICATED}) AS commits_wait`;

/**
 * Whether a session of the pool takes writes. `transaction_read_only` is on in a standby, and where an administrator has
 * made the server, the database or the user read-only. Such a session is closed, because it stays read-only.
 *
 * @returns false while commits wait for a synchronous standby
 * @throws ReadOnlySessionError, or why the database did not answer
 */
export function canWrite(dataSource: DataSource): Promise<boolean> {
  return onOwnConnection(dataSource, STATEMENT_MS, async (runner) => {
    const [row] = (await runner.query(SQL)) as { can_write: boolean; commits_wait: boolean }[];
    if (!row?.can_write) throw new ReadOnlySessionError();
    if (row.commits_wait) inDoubt.add(dataSource);
    else inDoubt.delete(dataSource);
    return !row.commits_wait;
  });
}

/** Where commits waited when they were last asked about, or something has had no answer since. */
const inDoubt = new WeakSet<DataSource>();

/**
 * Call it before a transaction begins. A commit that waits for a standby keeps its session on the server even if we hang
 * up, so each further one would take a connection of `max_connections`, until nobody gets one.
 *
 * @throws NoAnswerError while commits wait, ReadOnlySessionError, or why the database did not answer
 */
export async function assertCommits(dataSource: DataSource): Promise<void> {
  if (!inDoubt.has(dataSource) || (await canWrite(dataSource))) return;
  throw new NoAnswerError('commits wait for a synchronous standby, so nothing was written; bring it back');
}

/** When a connection has last answered, and when a statement was sent to its server that was never answered; monotonic ms. */
const answeredAt = new WeakMap<PooledClient, number>();

const silentSince = new Map<string, number>();

/** The connection works. */
function hasAnswered(client: PooledClient | undefined): void {
  if (client) answeredAt.set(client, clock.monotonic());
}

/** A statement that was sent at this time on the monotonic clock has had no answer. */
function wasSilent(client: PooledClient, sentAtMs: number): void {
  const server = serverOf(client);
  silentSince.set(server, Math.max(silentSince.get(server) ?? -Infinity, sentAtMs));
}

/**
 * Whether the connection may be dead: another one to its server has fallen silent, and this one has not answered since. A
 * network that drops one connection without a word mostly drops all of them. Twenty that are found out one after the
 * other, each by a statement that gets no answer, cost 20 s.
 */
function isDoubtful(client: PooledClient | undefined): boolean {
  if (!client) return false;
  const lastMs = answeredAt.get(client) ?? Infinity;
  return lastMs < (silentSince.get(serverOf(client)) ?? -Infinity);
}

function serverOf({ host, port }: PooledClient): string {
  return `${host ?? ''}:${port ?? ''}`;
}

/** Sends a statement, with what else TypeORM or a handler gives beside its text. */
export type Send = (...given: unknown[]) => Promise<unknown>;

/** A query runner of TypeORM, or a client of `pg`. */
interface Sender {
  query(...given: never[]): unknown;
}

/**
 * Puts `wrap` before everything that is sent through a runner. Several may be nested: each one's `send` is what stood there
 * before it.
 *
 * @returns puts back what stood there before: the method of the class, or the one of somebody else.
 */
export function interceptQueries(runner: Sender, wrap: (send: Send) => Send): () => void {
  const own = Object.getOwnPropertyDescriptor(runner, 'query');
  const value = wrap(runner.query.bind(runner) as unknown as Send);
  Object.defineProperty(runner, 'query', { value, configurable: true });
  return () => {
    if (own) Object.defineProperty(runner, 'query', own);
    else Reflect.deleteProperty(runner, 'query');
  };
}

const own = new WeakSet<QueryRunner>();

/** The transaction of this runner was begun here, or is the part of a host's that belongs to one call. */
export function markOwn(runner: QueryRunner): void {
  own.add(runner);
}

/** False for a transaction that a host has begun. */
export function isOwn(tx: object): tx is EntityManager {
  const { queryRunner } = tx as Partial<EntityManager>;
  return queryRunner !== undefined && own.has(queryRunner);
}

/**
 * Settings for connections of the service alone, where every statement goes by an index whatever its values are. Somebody
 * else's may need a plan for their values: generic plans have no use for partial indexes and skewed columns. Not sent as
 * options of the connection: poolers refuse those, and a URL that has its own would replace them.
 */
export const PLAN_BY_INDEX = 'SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off';

/**
 * A plan is as good as the table was when it was made, and PostgreSQL keeps it until the table is analyzed, a minute later
 * at best. Planning all statements anew takes some 10 ms a connection, so every ten seconds is cheap.
 */
const PLAN_AGE_MS = 10_000;

/** PostgreSQL keeps each on every connection forever: texts that are built from values would fill its memory. */
const MAX_STATEMENTS = 500;

/** Names of statements by text, the same on every connection of the process. */
const names = new Map<string, string>();

let named = 0;

type Query = (...given: unknown[]) => unknown;

/**
 * A client that prepares each statement with parameters once a connection, for PostgreSQL to keep its plan where that is as
 * good as one for the values: planning was 40 % of what the database did for orders that fall due one by one. For the
 * DataSource of a host, too: `extra: { Client: PreparingClient }`; not through a pooler that pools by transaction.
 *
 * When a migration changes what a statement returns (`SELECT *`), it fails once with 0A000 and then has another name.
 */
export class PreparingClient extends ResilientClient {
  private plannedAtMs = performance.now();
  private discarding: Promise<unknown> | undefined;

  constructor(config?: string | ClientConfig) {
    super(config);
    const query = this.query.bind(this) as Query;
    const send = (given: unknown[]): unknown => {
      const prepared = prepare(given);
      return prepared ? renamed(prepared.text, query(prepared) as Promise<unknown>) : query(...given);
    };
    this.query = ((...given: unknown[]) => {
      // Cursors and streams queue themselves.
      if (typeof given[0] !== 'string') return send(given);
      const isDue = performance.now() - this.plannedAtMs >= PLAN_AGE_MS;
      if (isDue && !COMMITS.test(given[0])) this.discardPlans(query);
      // Whatever comes meanwhile waits too, or it would overtake what came before it.
      return this.discarding ? this.discarding.then(() => send(given)) : send(given);
    }) as typeof this.query;
  }

  /** Never rejects: it fails with its transaction or connection, and so does what follows, but for COMMIT: that rolls back. */
  private discardPlans(query: Query): void {
    this.plannedAtMs = performance.now();
    this.discarding = (query('DISCARD PLANS') as Promise<unknown>)
      .catch(() => undefined)
      .finally(() => (this.discarding = undefined));
  }
}

/** A statement that PostgreSQL does not take any more under its name is prepared anew, on every connection. */
async function renamed(text: string, answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    if (isOutdated(error)) names.delete(text);
    throw NOT_OURS.includes(error.code ?? '') ? new PooledSessionError(error) : error;
  }
}

/**
 * invalid_sql_statement_name, duplicate_prepared_statement: each connection prepares a name once, before it uses it, so
 * another connection has the same session at times.
 */
const NOT_OURS = ['26000', '42P05'];

/** PostgreSQL does not know the statement that this connection prepared, or already has it from another one. */
class PooledSessionError extends CodedError {
  constructor(cause: Error) {
    super(
      'POOLED_SESSION',
      `${cause.message}: a pooler in transaction mode, such as PgBouncer, shares the session. ` +
        'Set DATABASE_PREPARED_STATEMENTS=off, or `extra.Client` of your DataSource to ResilientClient',
      { cause },
    );
  }
}

/** What it returns was changed by a migration, or the session is another one. */
function isOutdated({ code, routine }: DatabaseError): boolean {
  return code === '26000' || (code === '0A000' && routine === 'RevalidateCachedQuery');
}

/** Undefined for what is not `(text, values)`: those of TypeORM without values are few and cheap to plan. */
function prepare(given: readonly unknown[]): { name: string; text: string; values: unknown[] } | undefined {
  const [text, values] = given;
  if (given.length !== 2 || typeof text !== 'string' || !Array.isArray(values) || values.length === 0) return undefined;
  const name = nameOf(text);
  return name === undefined ? undefined : { name, text, values };
}

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || named >= MAX_STATEMENTS) return known;
  const name = `order-timeout-${named++}`;
  names.set(text, name);
  return name;
}

/**
 * JSON whose texts, keys included, PostgreSQL can hold. Evidence of an adapter may hold anything, and must not keep a
 * payment from being booked: a bigint becomes text, and an object that holds itself is left out there.
 */
export function storableJson(value: unknown): string {
  try {
    const json = JSON.stringify(value);
    // Nearly always: a replacer for every member costs six times as much.
    return UNSTORABLE.test(json) ? cleanJson(value) : json;
  } catch {
    return cleanJson(value);
  }
}

/** How JSON writes NUL and halves of emojis. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

function cleanJson(value: unknown): string {
  const above: { readonly original: object; readonly copy: unknown }[] = [];
  return JSON.stringify(value, function (this: unknown, _key, part: unknown) {
    while (above.length > 0 && above.at(-1)?.copy !== this) above.pop();
    if (typeof part === 'string') return storableText(part);
    if (typeof part === 'bigint') return String(part);
    if (typeof part !== 'object' || part === null) return part;
    if (above.some(({ original }) => original === part)) return undefined;
    const copy = Array.isArray(part) ? part : withStorableKeys(part);
    above.push({ original: part, copy });
    return copy;
  });
}

function withStorableKeys(part: object): object {
  return Object.fromEntries(Object.entries(part).map(([key, member]) => [storableText(key), member]));
}

/**
 * Text as PostgreSQL can hold it in text and jsonb: without NUL, and without half of an emoji where somebody cut it.
 * What providers say goes into evidence, and one bad character must not keep a payment from being booked.
 */
export function storableText(text: string): string {
  return Buffer.from(text.replaceAll('\0', ''), 'utf8').toString('utf8');
}

/** After that, work is tried again: only work shows whether the server takes it. */
const REFUSING_MS = 5_000;

/** Monotonic milliseconds. */
const refusedAt = new WeakMap<DataSource, number>();

/** The same, of refusals about which the commit of other work says nothing. */
const unusableAt = new WeakMap<DataSource, number>();

/** Remembers that the server has refused what all work needs, or is silent. Other errors say nothing. */
function noteFailure(dataSource: DataSource, error: unknown): void {
  if (isServerRefusing(error)) refusedAt.set(dataSource, clock.monotonic());
  if (isGivenUp(error)) inDoubt.add(dataSource);
}

/**
 * Remembers that a transaction met a table that cannot be used, or a full disk. Whether others are committed meanwhile
 * depends on the tables that they need.
 */
export function noteUnusable(dataSource: DataSource, error: unknown): void {
  if (isSchemaUnusable(error) || isDiskFull(error) || isOutOfIds(error)) unusableAt.set(dataSource, clock.monotonic());
}

/** A transaction of ours was committed. */
export function noteCommit(dataSource: DataSource): void {
  refusedAt.delete(dataSource);
}

/**
 * Whether the server has refused our work in the last five seconds. If it was a login, and a later transaction was committed, the
 * open sessions go on. A question cannot find that out: with a full disk, a lost right, or a changed password it is answered, on a
 * session that is open.
 */
function isRefusingWork(dataSource: DataSource): boolean {
  const now = clock.monotonic();
  return [refusedAt, unusableAt].some((times) => now - (times.get(dataSource) ?? -Infinity) < REFUSING_MS);
}

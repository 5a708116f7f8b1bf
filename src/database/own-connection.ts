import { type DataSource, type QueryRunner, type EntityManager } from 'typeorm';
import { inTime, SystemClock } from '../clock';
import { cancel, discard, drop, hangUp, type PooledClient } from './resilient-client';
import { NoAnswerError, ReadOnlySessionError } from './errors';
import { noteFailure, isSessionLost, isRefusingWork } from './database-errors';

/** The system clock, because it limits real sockets. */
const clock = new SystemClock();

/** A pool without a limit of its own would wait forever for a connection. */
const CHECKOUT_MS = 10_000;

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
    const late = (): Error => new NoAnswerError('the pool has given no connection', CHECKOUT_MS);
    return await inTime(clock, CHECKOUT_MS, connecting, late);
  } catch (error) {
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
  hangUp(client, new NoAnswerError('the database has not answered', limitMs));
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
 * Whether the database answers and takes writes: during a failover a standby answers, too, and a full disk lets reads
 * through. Never rejects.
 */
export function isDatabaseWritable(dataSource: DataSource): Promise<boolean> {
  if (isRefusingWork(dataSource)) return Promise.resolve(false);
  return canWrite(dataSource).catch(() => false);
}

const SQL = `SELECT current_setting('transaction_read_only') = 'off' AS can_write`;

/**
 * Whether a session of the pool takes writes. `transaction_read_only` is on in a standby, and where an administrator has
 * made the server, the database or the user read-only. Such a session is closed, because it stays read-only.
 *
 * @throws ReadOnlySessionError, or why the database did not answer
 */
export function canWrite(dataSource: DataSource): Promise<boolean> {
  return onOwnConnection(dataSource, STATEMENT_MS, async (runner) => {
    const [row] = (await runner.query(SQL)) as { can_write: boolean }[];
    if (!row?.can_write) throw new ReadOnlySessionError();
    return true;
  });
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
export function isOwn({ queryRunner }: EntityManager): boolean {
  return queryRunner !== undefined && own.has(queryRunner);
}

import { type DataSource, type QueryRunner } from 'typeorm';
import { inTime, SystemClock } from '../clock';
import { hasAnswered, isDoubtful, wasSilent } from './doubtful-connections';
import { cancel, discard, drop, hangUp, type PooledClient } from './hang-up';
import { interceptQueries } from './intercept-queries';
import { NoAnswerError } from './no-answer-error';
import { noteFailure } from './refused-work';
import { isSessionLost } from './session-lost';

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

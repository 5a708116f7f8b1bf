import { type DataSource, type QueryRunner } from 'typeorm';
import { SystemClock } from '../clock';
import { cancel, discard, hangUp, type PooledClient } from './hang-up';
import { NoAnswerError } from './no-answer-error';
import { isSessionLost } from './session-lost';

/** Of real sockets, so it is the real one. */
const clock = new SystemClock();
/** A pool without a limit of its own would wait for a connection for ever. */
const CHECKOUT_MS = 10_000;
/** The server cancels first, where it has been told to, and says why. */
const ANSWER_MARGIN_MS = 1_000;

/** Longest that the server is given for a statement of ours. They take milliseconds; what takes longer is tried again. */
export const STATEMENT_MS = 8_000;

/**
 * Runs `work` on a connection that is its own until it ends. However the pool of the host is set up, nothing of ours waits
 * for ever: a connection that does not come, or an answer that does not, is a NoAnswerError. A connection that is of no
 * more use is closed, and not given back to the pool.
 *
 * @param statementMs what the server may spend on a statement; 0: there is no limit
 */
export async function onOwnConnection<T>(
  dataSource: DataSource,
  statementMs: number,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  const client = await checkOut(runner);
  if (statementMs > 0) guard(runner, client, statementMs + ANSWER_MARGIN_MS);
  try {
    return await work(runner);
  } catch (error) {
    if (isSessionLost(error)) discard(client);
    throw error;
  } finally {
    await runner.release();
  }
}

async function checkOut(runner: QueryRunner): Promise<PooledClient | undefined> {
  const connecting = runner.connect() as Promise<PooledClient | undefined>;
  try {
    return await new Promise((resolve, reject) => {
      const late = (): void => reject(new NoAnswerError('the pool has given no connection', CHECKOUT_MS));
      const limit = clock.after(CHECKOUT_MS, late);
      void connecting.then(resolve, reject).finally(() => limit.cancel());
    });
  } catch (error) {
    // One that comes after all goes back. Releasing it before would keep it from the pool for ever.
    void connecting.then(() => runner.release()).catch(() => undefined);
    throw error;
  }
}

/** Whatever is sent, by handlers too, must be answered in time. */
function guard(runner: QueryRunner, client: PooledClient | undefined, limitMs: number): void {
  const send = runner.query.bind(runner) as (...given: unknown[]) => Promise<unknown>;
  const query = async (...given: unknown[]): Promise<unknown> => {
    const limit = clock.after(limitMs, () => giveUp(client, limitMs));
    try {
      return await send(...given);
    } finally {
      limit.cancel();
    }
  };
  Object.defineProperty(runner, 'query', { value: query, configurable: true });
}

function giveUp(client: PooledClient | undefined, limitMs: number): void {
  if (!client) return;
  cancel(client);
  hangUp(client, new NoAnswerError('the database has not answered', limitMs));
}

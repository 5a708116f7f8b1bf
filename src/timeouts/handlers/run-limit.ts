import { type Clock, withTimeout } from '../../clock';
import { type EntityManager } from 'typeorm';
import { RunStatements } from './run-statements';
import { HandlerTimeoutError } from '../timeout-errors';

interface RunLimit {
  readonly kind: string;
  readonly keys: readonly string[];
  readonly ms: number;
}

/** Time for a statement under way to end. One that takes longer is canceled on the server: it would go on and keep its locks. */
const STATEMENT_MS = 10_000;

/**
 * Runs `work`, which writes through `tx`, for at most `ms`. Then the connection of `tx` is cut: the server rolls back, the
 * pool drops it, and what the abandoned work still writes fails instead of reaching somebody else's transaction.
 *
 * @throws HandlerTimeoutError
 */
export async function withinRunLimit<T>(
  clock: Clock,
  tx: EntityManager,
  { kind, keys, ms }: RunLimit,
  work: () => Promise<T>,
): Promise<T> {
  const statements = await RunStatements.of(tx);
  let isOver = false;
  let isLate = false;
  let timer = { cancel: (): void => undefined };
  const limit = new Promise<never>((_resolve, reject) => {
    timer = clock.after(ms, () => {
      isLate = true;
      const error = new HandlerTimeoutError(kind, keys, { limitMs: ms, statementsMs: statements.spentMs });
      statements.refuse(error);
      void withTimeout(clock, STATEMENT_MS, statements.whenIdle(), undefined).then(() => {
        if (isOver) return;
        // Before the cut, or a statement under way would report a lost connection.
        reject(error);
        statements.cut(error);
      });
    });
  });
  const run = async (): Promise<T> => {
    try {
      const result = await work();
      // It has tolerated the refusal of a statement. To commit would be to lose that effect.
      return statements.wasRefused ? await limit : result;
    } catch (error) {
      // Errors after the limit are a consequence, not the cause.
      if (isLate) return limit;
      throw error;
    }
  };
  try {
    return await Promise.race([run(), limit]);
  } finally {
    isOver = true;
    timer.cancel();
    statements.release();
  }
}

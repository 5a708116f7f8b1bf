import { type EntityManager } from 'typeorm';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
} from '../../src/timeouts';
import { type TestDatabase } from '../support/database';

/** Writes one row per handled timeout in the engine's transaction: the table is the witness of every effect. */
@TimeoutHandler('fault.effect')
export class WriteEffects implements TimeoutHandlerBatch {
  async handleBatch(due: readonly DueTimeout[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    await tx.query(
      `INSERT INTO effect (key, early, late_ms, cause)
       SELECT key, due_at > now(), extract(epoch FROM clock_timestamp() - due_at) * 1000, cause
         FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS d(key, due_at, cause)`,
      [due.map(({ key }) => key), due.map(({ dueAt }) => dueAt.toISOString()), due.map(({ cause }) => cause)],
    );
    return due.map(() => DONE);
  }
}

export async function createEffectTable({ dataSource }: TestDatabase): Promise<void> {
  // No unique key: a second effect must show up, not fail.
  await dataSource.query('CREATE TABLE effect (key text, early boolean, late_ms float8, cause text)');
}

interface Summary {
  readonly effects: number;
  readonly keys: number;
  readonly early: number;
  readonly latestMs: number;
}

/** What happened to the timeouts whose keys begin with `prefix`. */
export async function summarize({ dataSource }: TestDatabase, prefix: string): Promise<Summary> {
  const [row] = await dataSource.query<Summary[]>(
    `SELECT count(*)::int AS effects, count(DISTINCT key)::int AS keys, count(*) FILTER (WHERE early)::int AS early,
            COALESCE(max(late_ms), 0) AS "latestMs" FROM effect WHERE key LIKE $1 || '%'`,
    [prefix],
  );
  if (!row) throw new Error('no summary');
  return row;
}

export function keys(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

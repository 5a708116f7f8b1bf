import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';

const UNDECIDED = `state = 'pending' AND next_attempt_at > due_at`;

/**
 * For how long the oldest timeout of each kind has been past its deadline without an answer, in seconds. It is asked again in
 * time, so it is not overdue: nothing else tells that an order has been held open for days. Kinds without one are absent.
 */
export async function oldestUndecided(dataSource: DataSource, schema: string): Promise<ReadonlyMap<string, number>> {
  const rows = await ownQuery<{ kind: string; seconds: number }[]>(
    dataSource,
    `
    WITH RECURSIVE oldest AS (
      (SELECT kind, due_at FROM ${schema}.timeout WHERE ${UNDECIDED} ORDER BY kind, due_at LIMIT 1)
      UNION ALL
      SELECT next.kind, next.due_at
        FROM oldest, LATERAL (SELECT t.kind, t.due_at FROM ${schema}.timeout t
                               WHERE ${UNDECIDED} AND t.kind > oldest.kind ORDER BY t.kind, t.due_at LIMIT 1) next)
    SELECT kind, extract(epoch FROM now() - due_at)::float8 AS seconds FROM oldest WHERE due_at <= now()`,
  );
  return new Map(rows.map(({ kind, seconds }) => [kind, seconds]));
}

/** SQL: the timeouts of one kind that are past their deadline and asked again. @param kind as SQL text */
export function undecidedTimeouts(schema: string, kind: string): string {
  return `(SELECT key, due_at, asked_since, last_error FROM ${schema}.timeout
            WHERE kind = ${kind} AND ${UNDECIDED} AND due_at <= now())`;
}

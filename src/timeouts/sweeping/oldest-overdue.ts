import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';

/** Rows that are read for each kind, at most. While a provider is paused, the first one counts. */
const MOST_READ = 10_000;

/**
 * How long the most overdue timeout of each kind has been waiting, in seconds; kinds with nothing overdue are absent. What
 * is looked up again and again waits from its next time on. What cannot be looked up, because its provider is paused,
 * waits from its deadline on (`asked_since` is before it). Reads little by indexes, so it may be asked at every scrape.
 */
export async function oldestOverdue(dataSource: DataSource, schema: string): Promise<ReadonlyMap<string, number>> {
  const rows = await ownQuery<{ kind: string; seconds: number }[]>(
    dataSource,
    `
    WITH RECURSIVE kinds AS (
      SELECT min(kind) AS kind FROM ${schema}.timeout WHERE state = 'pending'
      UNION ALL
      SELECT (SELECT min(t.kind) FROM ${schema}.timeout t WHERE t.state = 'pending' AND t.kind > kinds.kind)
        FROM kinds WHERE kinds.kind IS NOT NULL),
    oldest AS MATERIALIZED (
      SELECT kind, LEAST(
               (SELECT t.next_attempt_at FROM ${schema}.timeout t
                 WHERE t.kind = kinds.kind AND t.state = 'pending' ORDER BY t.next_attempt_at LIMIT 1),
               (SELECT min(again.due_at) FROM (
                  SELECT t.due_at, t.asked_since FROM ${schema}.timeout t
                   WHERE t.kind = kinds.kind AND t.state = 'pending' AND t.next_attempt_at > t.due_at
                   ORDER BY t.due_at LIMIT ${MOST_READ}) AS again
                 WHERE again.asked_since < again.due_at)) AS due_at
        FROM kinds WHERE kind IS NOT NULL)
    SELECT kind, extract(epoch FROM now() - due_at)::float8 AS seconds FROM oldest WHERE due_at <= now()`,
  );
  return new Map(rows.map(({ kind, seconds }) => [kind, seconds]));
}

import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';

/**
 * How long the most overdue timeout of each kind has been waiting, in seconds; kinds with nothing overdue are absent.
 * One step of an index per kind, so that it may be asked at every scrape.
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
    oldest AS (
      SELECT kind, (SELECT t.next_attempt_at FROM ${schema}.timeout t
                     WHERE t.kind = kinds.kind AND t.state = 'pending' ORDER BY t.next_attempt_at LIMIT 1) AS due_at
        FROM kinds WHERE kind IS NOT NULL)
    SELECT kind, extract(epoch FROM now() - due_at)::float8 AS seconds FROM oldest WHERE due_at <= now()`,
  );
  return new Map(rows.map(({ kind, seconds }) => [kind, seconds]));
}

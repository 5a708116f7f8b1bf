import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';

/**
 * How many overdue wake-ups of these kinds are still in the outbox, at most 10 000. Those that the
 * broker has refused before do not count: that is a fault of the path. What the relay has in hand is available again when its
 * lease ends, within 5 minutes.
 */
export async function countUnsent(dataSource: DataSource, schema: string, kinds: readonly string[]): Promise<number> {
  const [row] = await ownQuery<{ rows: number }[]>(
    dataSource,
    `SELECT count(*)::int AS rows FROM (
       SELECT 1 FROM ${schema}.outbox
        WHERE route = 'wake-up' AND routing_key = ANY($1) AND deliver_at <= now() AND attempts < 2
          AND available_at <= now() + interval '5 minutes' LIMIT 10000) AS unsent`,
    [kinds],
  );
  return row?.rows ?? 0;
}

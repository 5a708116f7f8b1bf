import { type DataSource, type EntityManager } from 'typeorm';
import { ownQuery } from '../database';

/** Wake-ups that are not on the broker yet. */
export class UnsentWakeUps {
  constructor(private readonly schema: string) {}

  /**
   * How many overdue wake-ups of these kinds there are, at most 100 000 in all. Those that the broker has refused before do not
   * count: that is a fault of the path. Rows that the relay has claimed count: their lease ends within 5 minutes.
   */
  async countOverdue(dataSource: DataSource, kinds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await ownQuery<{ kind: string; rows: number }[]>(
      dataSource,
      `SELECT kind, count(*)::int AS rows FROM (
         SELECT routing_key AS kind FROM ${this.schema}.outbox
          WHERE route = 'wake-up' AND routing_key = ANY($1) AND deliver_at <= now() AND attempts < 2
            AND available_at <= now() + interval '5 minutes' LIMIT 100000) AS unsent GROUP BY kind`,
      [kinds],
    );
    return new Map(rows.map(({ kind, rows: count }) => [kind, count]));
  }

  /** How many the relay may take within a second, at most `limit`. What was just written waits for up to 0.25 s and counts. */
  async countDueSoon(tx: EntityManager, limit: number): Promise<number> {
    const [row] = await tx.query<{ rows: number }[]>(
      `SELECT count(*)::int AS rows FROM (
         SELECT 1 FROM ${this.schema}.outbox
          WHERE route = 'wake-up' AND available_at <= now() + interval '1 second' LIMIT ${limit}) AS due`,
    );
    return row?.rows ?? 0;
  }

  /** Deletes at most `limit` of them, as a million would exceed the time limit of a statement. Returns how many. */
  async deletePage(dataSource: DataSource, limit: number): Promise<number> {
    const rows = await ownQuery<unknown[]>(
      dataSource,
      `WITH page AS (
         SELECT ctid FROM ${this.schema}.outbox WHERE route = 'wake-up' LIMIT ${limit} FOR UPDATE SKIP LOCKED),
       gone AS (DELETE FROM ${this.schema}.outbox WHERE ctid = ANY(ARRAY(SELECT ctid FROM page)) RETURNING 1)
       SELECT 1 FROM gone`,
    );
    return rows.length;
  }
}

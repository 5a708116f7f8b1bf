import { type DataSource } from 'typeorm';
import { type OutboxRoute } from './outbox-entry';

/** A row taken by this relay until its lease ends. */
export interface ClaimedRow {
  readonly id: string;
  readonly route: OutboxRoute;
  readonly routing_key: string;
  readonly body: string;
  readonly traceparent: string | null;
  /** Milliseconds from the claim to the due time by the database's clock; null: at once. */
  readonly remaining_ms: number | null;
}

const WITHOUT_FLUSH = `set_config('synchronous_commit', 'off', true)`;

/**
 * The relay's three statements. Claim and deletion do not wait for the disk: if a crash of PostgreSQL undoes one, the
 * row is published once more under the same message id, which every consumer has to bear anyway.
 */
export class OutboxClaims {
  private readonly claimSql: string;
  private readonly deleteSql: string;
  private readonly releaseSql: string;

  constructor(schema: string) {
    // Both conditions are written so that the planner takes them for common, whatever it knows of the table: taken for
    // rare, all that is available is read and sorted for each batch (50 000 rows: 43-140 ms instead of 13).
    this.claimSql = `
      WITH claimed AS (
        UPDATE ${schema}.outbox
           SET available_at = now() + $3 * interval '1 millisecond', attempts = attempts + 1
         WHERE id = ANY (ARRAY(
               SELECT id FROM ${schema}.outbox
                WHERE available_at <= (SELECT now() FROM ${WITHOUT_FLUSH})
                  AND array_position($1::text[], route) IS NOT NULL
                ORDER BY available_at, id LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING id, route, routing_key, body::text AS body, traceparent,
                  (extract(epoch FROM deliver_at - clock_timestamp()) * 1000)::float8 AS remaining_ms)
      SELECT * FROM claimed ORDER BY id`;
    // By the claimed ids, never by "up to id n": a smaller id may commit later and would go unsent.
    this.deleteSql = `DELETE FROM ${schema}.outbox WHERE id = ANY($1::uuid[]) AND (SELECT ${WITHOUT_FLUSH}) = 'off'`;
    this.releaseSql = `
      UPDATE ${schema}.outbox SET available_at = now() + $2 * interval '1 millisecond' WHERE id = ANY($1::uuid[])`;
  }

  /** In the order in which they were made, as their ids tell it. */
  async claim(
    dataSource: DataSource,
    routes: readonly OutboxRoute[],
    limit: number,
    leaseMs: number,
  ): Promise<ClaimedRow[]> {
    return dataSource.query<ClaimedRow[]>(this.claimSql, [routes, limit, leaseMs]);
  }

  async delete(dataSource: DataSource, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await dataSource.query(this.deleteSql, [ids]);
  }

  /** Gives rows back, to be claimed again after `afterMs`. */
  async release(dataSource: DataSource, ids: readonly string[], afterMs: number): Promise<void> {
    if (ids.length > 0) await dataSource.query(this.releaseSql, [ids, afterMs]);
  }
}

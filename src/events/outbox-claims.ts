import { type DataSource } from 'typeorm';
import { type OutboxRoute } from './outbox-entry';

/** A row taken by this relay until its lease ends. */
export interface ClaimedRow {
  readonly id: string;
  /** Where the row is; it stays there until somebody else claims it. */
  readonly ctid: string;
  readonly route: OutboxRoute;
  readonly routing_key: string;
  readonly body: string;
  readonly traceparent: string | null;
  /** Milliseconds from the claim to the due time by the database's clock; null: at once. */
  readonly remaining_ms: number | null;
}

/**
 * For the rest of the transaction. A queue that is empty whenever it is vacuumed looks small to the planner for a minute,
 * with a hundred thousand dead rows or live ones in it: it reads and sorts all of them for each claim (100 ms instead of 1).
 * In the order of the index it stops at the limit. Waiting for the disk is left out, see the class.
 */
const SETTINGS = `
  SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
         set_config('synchronous_commit', 'off', true)`;

/**
 * The relay's three statements. Claim and deletion do not wait for the disk: if a crash of PostgreSQL undoes one, the
 * row is published once more under the same message id, which every consumer has to bear anyway.
 */
export class OutboxClaims {
  private readonly claimSql: string;
  private readonly deleteSql: string;
  private readonly releaseSql: string;

  constructor(schema: string) {
    this.claimSql = `
      WITH claimed AS (
        UPDATE ${schema}.outbox
           SET available_at = now() + $3 * interval '1 millisecond', attempts = attempts + 1
         WHERE ctid = ANY (ARRAY(
               SELECT ctid FROM ${schema}.outbox WHERE available_at <= now() AND route = ANY ($1::text[])
                ORDER BY available_at, id LIMIT $2 FOR UPDATE SKIP LOCKED))
        RETURNING id, ctid::text AS ctid, route, routing_key, body::text AS body, traceparent,
                  (extract(epoch FROM deliver_at - clock_timestamp()) * 1000)::float8 AS remaining_ms)
      SELECT * FROM claimed ORDER BY id`;
    // The claimed rows, never "up to id n": a smaller id may commit later and would go unsent. By their place, as the
    // planner has no second way to that. Who has been moved (claimed by somebody else, VACUUM FULL) is published again.
    this.deleteSql = `
      DELETE FROM ${schema}.outbox WHERE ctid = ANY($1::tid[]) AND id = ANY($2::uuid[])
         AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'`;
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
    return dataSource.transaction(async (tx) => {
      await tx.query(SETTINGS);
      return tx.query<ClaimedRow[]>(this.claimSql, [routes, limit, leaseMs]);
    });
  }

  async delete(dataSource: DataSource, rows: readonly Pick<ClaimedRow, 'id' | 'ctid'>[]): Promise<void> {
    if (rows.length === 0) return;
    await dataSource.query(this.deleteSql, [rows.map(({ ctid }) => ctid), rows.map(({ id }) => id)]);
  }

  /** Gives rows back, to be claimed again after `afterMs`. */
  async release(dataSource: DataSource, ids: readonly string[], afterMs: number): Promise<void> {
    if (ids.length > 0) await dataSource.query(this.releaseSql, [ids, afterMs]);
  }
}

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

/**
 * The relay's three statements. None of them waits for the disk: if a crash of PostgreSQL undoes a claim or a
 * deletion, the row is published once more under the same message id, which every consumer has to bear anyway.
 */
const WITHOUT_FLUSH = `(SELECT set_config('synchronous_commit', 'off', true)) = 'off'`;

export class OutboxClaims {
  private readonly claimSql: string;
  private readonly deleteSql: string;
  private readonly releaseSql: string;

  constructor(schema: string) {
    this.claimSql = `
      WITH due AS (
        SELECT id FROM ${schema}.outbox
         WHERE available_at <= now() AND route = ANY($1) AND ${WITHOUT_FLUSH}
         ORDER BY available_at, id LIMIT $2 FOR UPDATE SKIP LOCKED)
      UPDATE ${schema}.outbox o
         SET available_at = now() + $3 * interval '1 millisecond', attempts = attempts + 1
        FROM due WHERE o.id = due.id
      RETURNING o.id, o.route, o.routing_key, o.body::text AS body, o.traceparent,
                (extract(epoch FROM o.deliver_at - clock_timestamp()) * 1000)::float8 AS remaining_ms`;
    // By the claimed ids, never by "up to id n": a smaller id may commit later and would go unsent.
    this.deleteSql = `DELETE FROM ${schema}.outbox WHERE id = ANY($1::uuid[]) AND ${WITHOUT_FLUSH}`;
    this.releaseSql = `
      UPDATE ${schema}.outbox SET available_at = now() + $2 * interval '1 millisecond' WHERE id = ANY($1::uuid[])`;
  }

  async claim(
    dataSource: DataSource,
    routes: readonly OutboxRoute[],
    limit: number,
    leaseMs: number,
  ): Promise<ClaimedRow[]> {
    const [rows] = await dataSource.query<[ClaimedRow[], number]>(this.claimSql, [routes, limit, leaseMs]);
    return rows;
  }

  async delete(dataSource: DataSource, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await dataSource.query(this.deleteSql, [ids]);
  }

  /** Gives rows back, to be claimed again after `afterMs`. */
  async release(dataSource: DataSource, ids: readonly string[], afterMs: number): Promise<void> {
    if (ids.length > 0) await dataSource.query(this.releaseSql, [ids, afterMs]);
  }
}

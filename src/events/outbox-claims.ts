import { ownTransaction } from './own-transaction';
import { type DataSource } from 'typeorm';
import { type OutboxRoute } from './outbox-entry';

/** A row taken by this relay until its lease ends. */
export interface ClaimedRow {
  readonly id: string;
  /** Until when it is ours, the same for all rows of a claim; PostgreSQL's text, to the microsecond. */
  readonly lease: string;
  readonly route: OutboxRoute;
  readonly routing_key: string;
  readonly body: string;
  readonly traceparent: string | null;
  /** Milliseconds from the claim to the due time by the database's clock; null: at once. */
  readonly remaining_ms: number | null;
}

const WITHOUT_FLUSH = `set_config('synchronous_commit', 'off', true)`;

/** A process that freezes between claim and commit would keep its rows from everybody; a commit takes milliseconds. */
const IDLE_LIMIT_MS = 5_000;

/**
 * For the rest of the transaction. A queue that is empty whenever it is vacuumed looks small to the planner for a minute,
 * with a hundred thousand dead rows or live ones in it: it reads and sorts all of them for each claim (88 ms instead of 1).
 * In the order of the index it stops at the limit. For not waiting for the disk see the class.
 */
const SETTINGS = `
  SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
         ${WITHOUT_FLUSH},
         set_config('idle_in_transaction_session_timeout', '${IDLE_LIMIT_MS}', true)`;

/**
 * What the relay does to its table. Claim and deletion do not wait for the disk: if a crash of PostgreSQL undoes one, the
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
        RETURNING id, available_at::text AS lease, route, routing_key, body::text AS body, traceparent,
                  (extract(epoch FROM deliver_at - clock_timestamp()) * 1000)::float8 AS remaining_ms)
      SELECT * FROM claimed ORDER BY id`;
    // By the claimed ids, never by "up to id n": a smaller id may commit later and would go unsent. The lease is there for
    // the planner: both indexes find few rows, while by the ids alone it reads all of `outbox_available` in a small table.
    this.deleteSql = `
      DELETE FROM ${schema}.outbox WHERE available_at = $1::timestamptz AND id = ANY($2::uuid[])
         AND (SELECT ${WITHOUT_FLUSH}) = 'off'`;
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
    return ownTransaction(dataSource, async (tx) => {
      await tx.query(SETTINGS);
      return tx.query<ClaimedRow[]>(this.claimSql, [routes, limit, leaseMs]);
    });
  }

  /** @param claimed of one claim. Whoever has lost its lease to somebody else is theirs to delete. */
  async delete(dataSource: DataSource, claimed: readonly Pick<ClaimedRow, 'id' | 'lease'>[]): Promise<void> {
    const [first] = claimed;
    if (first) await dataSource.query(this.deleteSql, [first.lease, claimed.map(({ id }) => id)]);
  }

  /** Gives rows back, to be claimed again after `afterMs`. */
  async release(dataSource: DataSource, ids: readonly string[], afterMs: number): Promise<void> {
    if (ids.length > 0) await dataSource.query(this.releaseSql, [ids, afterMs]);
  }
}

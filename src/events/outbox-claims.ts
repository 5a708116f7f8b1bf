import { ownTransaction } from './own-transaction';
import { type DataSource } from 'typeorm';
import { ownQuery } from '../postgres';
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

/** What one claim has taken. */
export interface Claim {
  /** In the order in which they were made, as their ids tell it. */
  readonly rows: readonly ClaimedRow[];
  /** It was limited: there may be more. */
  readonly isFull: boolean;
}

export const NOTHING: Claim = { rows: [], isFull: false };

/** Of a claimed row, what says whose it is. */
export type Leased = Pick<ClaimedRow, 'id' | 'lease'>;

/** With the number of rows that could have been taken, up to the limit of rows. */
interface Found extends ClaimedRow {
  readonly found: number;
}

export interface ClaimLimits {
  readonly rows: number;
  /** About so many of body in memory; one row is always taken. */
  readonly bytes: number;
  readonly leaseMs: number;
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
 * Text of a body in bytes, without reading a large one: what is stored is compressed, JSON mostly to a fifth or less. A
 * body of 300 bytes counts as 3 kB, so that a batch of the usual ones is limited by its rows.
 */
const BODY_BYTES = 'pg_column_size(body) * 10';

/** Doubled with each attempt up to a minute, and spread, so that what failed together does not come together again. */
const BACK_OFF = `LEAST(60, 2 ^ LEAST(attempts - 1, 6)) * (0.75 + random() / 4) * interval '1 second'`;

/**
 * What the relay of one route does to the table. Claim and deletion do not wait for the disk: if a crash of PostgreSQL undoes
 * one, the row is published once more under the same message id, which every consumer has to bear anyway. Whoever has lost
 * its lease to somebody else changes nothing.
 */
export class OutboxClaims {
  private readonly claimSql: string;
  private readonly deleteSql: string;
  private readonly releaseSql: string;
  private readonly extendSql: string;
  private readonly parkSql: string;

  constructor(schema: string, route: OutboxRoute) {
    const table = `${schema}.outbox`;
    // The route as a constant: only so the planner can take the index of events for events.
    const claimable = `route = '${route}' AND available_at <= now()`;
    this.claimSql = `
      WITH candidate AS (
        SELECT ctid AS place, ${BODY_BYTES} AS bytes FROM ${table}
         WHERE ${claimable} ORDER BY available_at, id LIMIT $1 FOR UPDATE SKIP LOCKED),
      chosen AS (
        SELECT place FROM (
          SELECT place, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM candidate) counted
         WHERE bytes_before < $2),
      claimed AS (
        UPDATE ${table} SET available_at = now() + $3 * interval '1 millisecond', attempts = attempts + 1
         WHERE ctid = ANY (ARRAY(SELECT place FROM chosen))
        RETURNING id, available_at::text AS lease, route, routing_key, body::text AS body, traceparent,
                  (extract(epoch FROM deliver_at - clock_timestamp()) * 1000)::float8 AS remaining_ms)
      SELECT claimed.*, (SELECT count(*) FROM candidate)::int AS found FROM claimed ORDER BY id`;
    // By the claimed ids, never by "up to id n": a smaller id may commit later and would go unsent. The lease is there for
    // the planner, too: both indexes find few rows, while by the ids alone it reads all of `outbox_available` in a small table.
    const leased = 'available_at = $1::timestamptz AND id = ANY($2::uuid[])';
    this.deleteSql = `DELETE FROM ${table} WHERE ${leased} AND (SELECT ${WITHOUT_FLUSH}) = 'off'`;
    this.releaseSql = `UPDATE ${table} SET available_at = now() + ${BACK_OFF} WHERE ${leased}`;
    this.extendSql = `
      WITH extended AS (
        UPDATE ${table} SET available_at = now() + $3 * interval '1 millisecond' WHERE ${leased}
        RETURNING id, available_at::text AS lease)
      SELECT id, lease FROM extended`;
    this.parkSql = `UPDATE ${table} SET available_at = 'infinity', parked_reason = $3 WHERE ${leased}`;
  }

  async claim(dataSource: DataSource, limits: ClaimLimits): Promise<Claim> {
    const rows = await ownTransaction(dataSource, async (tx) => {
      await tx.query(SETTINGS);
      return tx.query<Found[]>(this.claimSql, [limits.rows, limits.bytes, limits.leaseMs]);
    });
    const found = rows[0]?.found ?? 0;
    return { rows, isFull: found >= limits.rows || found > rows.length };
  }

  async delete(dataSource: DataSource, rows: readonly Leased[]): Promise<void> {
    for (const [lease, ids] of byLease(rows)) await ownQuery(dataSource, this.deleteSql, [lease, ids]);
  }

  /** Gives rows back, to be claimed again after a time that grows with their attempts. */
  async release(dataSource: DataSource, rows: readonly Leased[]): Promise<void> {
    for (const [lease, ids] of byLease(rows)) await ownQuery(dataSource, this.releaseSql, [lease, ids]);
  }

  /** Keeps rows from being claimed for `leaseMs` more. Returns those that were still ours, with their new lease. */
  async extend(dataSource: DataSource, rows: readonly Leased[], leaseMs: number): Promise<Leased[]> {
    const extended: Leased[][] = [];
    for (const [lease, ids] of byLease(rows)) {
      extended.push(await ownQuery<Leased[]>(dataSource, this.extendSql, [lease, ids, leaseMs]));
    }
    return extended.flat();
  }

  /** Takes a row out of the relay's sight, until somebody retries it. */
  async park(dataSource: DataSource, { id, lease }: Leased, reason: string): Promise<void> {
    await ownQuery(dataSource, this.parkSql, [lease, [id], reason]);
  }
}

function byLease(rows: readonly Leased[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { id, lease } of rows) {
    const ids = groups.get(lease);
    if (ids) ids.push(id);
    else groups.set(lease, [id]);
  }
  return groups;
}

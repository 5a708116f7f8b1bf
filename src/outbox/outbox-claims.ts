import { type DataSource, type EntityManager } from 'typeorm';
import { type Clock } from '../clock';
import { ownQuery, ownTransaction, type ScannedPage, type ScanRange, ScanWindow } from '../database';
import { present } from '../errors';
import { type Publication, type TopologyNames } from '../rabbit';
import { traceparentOf } from '../tracing';
import { type OutboxRoute } from './outbox';

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

export interface Claim {
  /** In the order in which they were made, as their ids tell it. */
  readonly rows: readonly ClaimedRow[];
  /** A limit was reached: there may be more. */
  readonly isFull: boolean;
}

/** Longest pauses before a row is claimed again, seconds: refused by its queue or exchange; lost with its channel, which blames no row. */
export const PAUSES_S = { refused: 60, lost: 5 } as const;

export const NOTHING: Claim = { rows: [], isFull: false };

/** Identity of a claimed row, and the lease that proves whose it is. */
export type Leased = Pick<ClaimedRow, 'id' | 'lease'>;

/** With the number of rows that could have been taken, up to the limit of rows, and the place of the last one taken. */
interface Found extends ClaimedRow {
  readonly found: number;
  readonly last_at: string;
  readonly last_id: string;
}

interface RangeClaim extends Claim {
  readonly range: ScanRange;
  readonly page: ScannedPage;
}

interface ClaimLimits {
  readonly rows: number;
  /** Approximate limit for the bodies in memory, bytes; one row is always taken. */
  readonly bytes: number;
  readonly leaseMs: number;
}

const WITHOUT_FLUSH = `set_config('synchronous_commit', 'off', true)`;

/**
 * For the rest of the transaction. A queue that is empty whenever it is vacuumed looks small to the planner for a minute,
 * with a hundred thousand dead rows or live ones in it: it reads and sorts all of them for each claim (88 ms instead of 1).
 * In the order of the index it stops at the limit. For not waiting for the disk see the class.
 */
const SETTINGS = `
  SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
         ${WITHOUT_FLUSH},
         (extract(epoch FROM now()) * 1000)::float8 AS now_ms`;

const NONE = { found: 0, last_at: '', last_id: '' };

/** Before every id. */
export const NO_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Estimates the bytes of a body's text without reading it: a large body is stored compressed, JSON mostly to a fifth or less.
 * A body of 300 bytes counts as 3 kB, so batches of small bodies are limited by their rows.
 */
const BODY_BYTES = 'pg_column_size(body) * 10';

/** Doubled with each attempt up to $3 seconds, and spread, so that what failed together does not come together again. */
const BACK_OFF = `LEAST($3, 2 ^ LEAST(attempts - 1, 6)) * (0.75 + random() / 4) * interval '1 second'`;

/**
 * What the relay of one route does to the table. Claim and deletion do not wait for the disk: if a crash of PostgreSQL undoes
 * one, the row is published once more under the same message id, which every consumer must expect. A relay that has lost its
 * lease changes nothing.
 */
export class OutboxClaims {
  private readonly claimSql: string;
  private readonly deleteSql: string;
  private readonly releaseSql: string;
  private readonly extendSql: string;
  private readonly parkSql: string;
  private readonly window: ScanWindow;
  /** What the last full claim has left of its range. */
  private rest: ScanRange | undefined;

  constructor(
    schema: string,
    route: OutboxRoute,
    private readonly clock: Clock,
  ) {
    this.window = new ScanWindow(clock);
    const table = `${schema}.outbox`;
    // The route as a constant: only so the planner can take the index of events for events.
    // Where it begins keeps dead rows from being read (see ScanWindow), and a clock that was set back must not put that
    // into the future.
    const claimable = `route = '${route}' AND available_at <= now()
           AND (available_at, id) > (LEAST($4::timestamptz, now()), $5::uuid) AND available_at < $6::timestamptz`;
    this.claimSql = `
      WITH candidate AS (
        SELECT ctid AS place, available_at, id, ${BODY_BYTES} AS bytes FROM ${table}
         WHERE ${claimable} ORDER BY available_at, id LIMIT $1 FOR UPDATE SKIP LOCKED),
      chosen AS (
        SELECT place, available_at, id FROM (
          SELECT candidate.*, sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before FROM candidate) counted
         WHERE bytes_before < $2),
      last AS (SELECT available_at::text AS last_at, id AS last_id FROM chosen ORDER BY available_at DESC, id DESC LIMIT 1),
      claimed AS (
        UPDATE ${table} SET available_at = now() + $3 * interval '1 millisecond', attempts = attempts + 1
         WHERE ctid = ANY (ARRAY(SELECT place FROM chosen))
        RETURNING id, available_at::text AS lease, route, routing_key, body::text AS body, traceparent,
                  (extract(epoch FROM deliver_at - clock_timestamp()) * 1000)::float8 AS remaining_ms)
      SELECT claimed.*, last.*, (SELECT count(*) FROM candidate)::int AS found FROM claimed, last ORDER BY claimed.id`;
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
    const claims = await ownTransaction(dataSource, async (tx) => {
      const [at] = await tx.query<{ now_ms: number }[]>(SETTINGS);
      const nowMs = at?.now_ms ?? 0;
      const first = this.rest ?? this.window.past(nowMs) ?? this.window.recent(nowMs);
      this.rest = undefined;
      const claim = await this.claimRange(tx, first, limits);
      if (claim.rows.length > 0 || !first.isPast) return [claim];
      return [claim, await this.claimRange(tx, this.window.recent(nowMs), limits)];
    });
    // Not before the commit: rows of a claim that was lost would wait until the past is read.
    for (const { range, page } of claims) this.rest = this.window.read(range, page);
    return present(claims.at(-1), 'a claim');
  }

  private async claimRange(tx: EntityManager, range: ScanRange, limits: ClaimLimits): Promise<RangeClaim> {
    const { from, until } = range;
    const args = [limits.rows, limits.bytes, limits.leaseMs, from.at, from.key || NO_ID, until];
    const beganAt = this.clock.monotonic();
    const rows = await tx.query<Found[]>(this.claimSql, args).catch((error: unknown) => {
      this.window.failed(range, this.clock.monotonic() - beganAt);
      throw error;
    });
    const [{ found, last_at, last_id } = NONE] = rows;
    const isLimited = found >= limits.rows || found > rows.length;
    const last = isLimited ? { at: last_at, key: last_id } : undefined;
    const page = { last, costMs: this.clock.monotonic() - beganAt };
    // Behind a slice of the past there is what has become due since.
    return { rows, isFull: isLimited || (range.isPast && rows.length > 0), range, page };
  }

  async delete(dataSource: DataSource, rows: readonly Leased[]): Promise<void> {
    for (const [lease, ids] of byLease(rows)) await ownQuery(dataSource, this.deleteSql, [lease, ids]);
  }

  /** Releases rows; they can be claimed again after a time that grows with their attempts, up to `longestS` seconds. */
  async release(dataSource: DataSource, rows: readonly Leased[], longestS: number): Promise<void> {
    for (const [lease, ids] of byLease(rows)) await ownQuery(dataSource, this.releaseSql, [lease, ids, longestS]);
  }

  /** Keeps rows from being claimed for `leaseMs` more. Returns those that were still ours, with their new lease. */
  async extend(dataSource: DataSource, rows: readonly Leased[], leaseMs: number): Promise<Leased[]> {
    const extended: Leased[][] = [];
    for (const [lease, ids] of byLease(rows)) {
      extended.push(await ownQuery<Leased[]>(dataSource, this.extendSql, [lease, ids, leaseMs]));
    }
    return extended.flat();
  }

  /** Parks a row: no relay claims it until an operator retries it. */
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

/** What every outbox row becomes, wherever it is sent: its id is the message's, so that a second copy can be told. */
export function messageOf(row: ClaimedRow): Pick<Publication, 'body' | 'messageId' | 'type' | 'headers'> {
  return {
    body: Buffer.from(row.body),
    messageId: row.id,
    type: row.routing_key,
    headers: traceHeaders(row.traceparent),
  };
}

/** Events go to the events exchange at once; nobody listening is not an error, so they are not mandatory. */
export function routeEvent(names: TopologyNames, row: ClaimedRow): Publication {
  return { ...messageOf(row), exchange: names.events, routingKey: row.routing_key };
}

/** The trace headers of a message; of anything but a W3C traceparent none, as it could make the message unsendable. */
function traceHeaders(traceparent: string | null | undefined): Readonly<Record<string, string>> {
  const known = traceparentOf(traceparent);
  return known === undefined ? {} : { traceparent: known };
}

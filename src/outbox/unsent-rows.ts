import { type DataSource, type EntityManager } from 'typeorm';
import { ownQuery, ownTransaction } from '../database';
import { type OutboxRoute, type JsonObject } from './outbox';
import { NO_ID } from './outbox-claims';

/** How many events are not on the broker yet, parked ones included. By the index of events alone. */
export async function countUnsentEvents(dataSource: DataSource, schema: string): Promise<number> {
  const sql = `SELECT count(*)::int AS count FROM ${schema}.outbox WHERE route = 'event'`;
  const [row] = await ownQuery<{ count: number }[]>(dataSource, sql);
  return row?.count ?? 0;
}

/** An event of an order that is not on the broker yet. */
export interface UnsentEvent {
  /** Such as `order.closed`. */
  readonly type: string;
  readonly createdAt: Date;
  /** Null: it waits for the relay. */
  readonly parkedReason: string | null;
}

/** How many events are searched for those of one order. More of them wait only while there is no broker. */
const SEARCHED = 10_000;

/** The events of an order among the next that the relay takes, and among those that are parked. */
export function unsentEventsOf(dataSource: DataSource, schema: string, orderId: string): Promise<UnsentEvent[]> {
  const some = (condition: string, order: string): string =>
    `(SELECT * FROM ${schema}.outbox WHERE route = 'event' AND ${condition} ORDER BY ${order} LIMIT ${SEARCHED})`;
  return ownQuery<UnsentEvent[]>(
    dataSource,
    `SELECT routing_key AS type, created_at AS "createdAt", parked_reason AS "parkedReason"
       FROM (${some('parked_reason IS NULL', 'available_at, id')} UNION ALL ${some('parked_reason IS NOT NULL', 'id')}) event
      WHERE body->>'orderId' = $1 ORDER BY created_at, id`,
    [orderId],
  );
}

/** SQL: the order ids of events that are not on the broker yet, parked ones included. By the index of events alone. */
export function unsentEvents(schema: string): string {
  return `SELECT event.body->>'orderId' FROM ${schema}.outbox event
           WHERE event.route = 'event' AND event.body->>'orderId' IS NOT NULL`;
}

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

/** A message that can never be sent as it is. */
export interface ParkedRow {
  readonly id: string;
  readonly route: OutboxRoute;
  readonly routingKey: string;
  readonly reason: string;
  readonly createdAt: Date;
  /** Of the body as JSON. */
  readonly bytes: number;
}

/** The parked rows of the outbox: listed, sent again, or discarded. */
export class ParkedRows {
  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string,
  ) {}

  /** Oldest first; `after` is the last id of the previous page. */
  list({ limit = 100, after = NO_ID }: { limit?: number; after?: string } = {}): Promise<ParkedRow[]> {
    return ownQuery(
      this.dataSource,
      `SELECT id, route, routing_key AS "routingKey", parked_reason AS reason, created_at AS "createdAt",
              octet_length(body::text) AS bytes
         FROM ${this.schema}.outbox WHERE parked_reason IS NOT NULL AND id > $1 ORDER BY id LIMIT $2`,
      [after, limit],
    );
  }

  /** Lets the relay send them, under their own ids. Remove the cause first. Returns how many were parked. */
  async retry(ids: readonly string[]): Promise<number> {
    return this.change(
      `UPDATE ${this.schema}.outbox SET parked_reason = NULL, attempts = 0, available_at = now()
        WHERE parked_reason IS NOT NULL AND id = ANY($1::uuid[])`,
      ids,
    );
  }

  /** Deletes them for good. A wake-up is replaced by the sweep; an event exists nowhere else. Returns how many were parked. */
  async discard(ids: readonly string[]): Promise<number> {
    return this.change(
      `DELETE FROM ${this.schema}.outbox WHERE parked_reason IS NOT NULL AND id = ANY($1::uuid[])`,
      ids,
    );
  }

  private async change(sql: string, ids: readonly string[]): Promise<number> {
    const [, count] = await ownTransaction(this.dataSource, (tx) => tx.query<[unknown, number]>(sql, [ids]));
    return count;
  }
}

interface TakenEvent {
  readonly type: string;
  readonly body: JsonObject;
}

/** Takes all committed events from the outbox, in the order in which they were written. For the test kit. */
export function takeEvents(dataSource: DataSource, schema: string): Promise<TakenEvent[]> {
  return ownQuery(
    dataSource,
    `WITH taken AS (DELETE FROM ${schema}.outbox WHERE route = 'event' RETURNING id, routing_key, body)
     SELECT routing_key AS type, body FROM taken ORDER BY id`,
  );
}

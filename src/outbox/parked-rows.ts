import { type DataSource } from 'typeorm';
import { ownQuery, ownTransaction } from '../database';
import { type OutboxRoute } from './outbox-entry';

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

/** Before every id. */
const NO_ID = '00000000-0000-0000-0000-000000000000';

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

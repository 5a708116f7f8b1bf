import { type DataSource } from 'typeorm';
import { ownQuery } from '../database';
import { type JsonObject } from './outbox-entry';

/** An event that was taken from the outbox. */
export interface TakenEvent {
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

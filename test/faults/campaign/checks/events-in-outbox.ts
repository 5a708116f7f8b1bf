import { type Database } from '../stage/database';
import { type SeenEvent } from '../stream/broker-link';

/** What waits for the broker. While that is dead all along, every event has to be here. */
export async function eventsInOutbox(database: Database): Promise<SeenEvent[]> {
  const rows = await database.query<{ body: SeenEvent }>(
    `SELECT body FROM order_timeout.outbox WHERE route = 'event' ORDER BY id`,
  );
  return rows.map(({ body }) => body);
}

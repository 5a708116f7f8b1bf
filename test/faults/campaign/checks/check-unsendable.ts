import { type Database } from '../stage/database';
import { UNSENDABLE } from '../stream/event-record';
import { type Verdict } from './verdict';

/** What can never be sent must be set aside with its reason, and not be tried forever. */
export async function checkUnsendable(database: Database, verdict: Verdict): Promise<void> {
  const rows = await database.query<{ id: string; attempts: number }>(
    `SELECT id, attempts FROM order_timeout.outbox WHERE routing_key LIKE '${UNSENDABLE}%' AND parked_reason IS NULL`,
  );
  for (const { id, attempts } of rows) verdict.add('stuck-events', `${id} was tried ${attempts} times and not parked`);
}

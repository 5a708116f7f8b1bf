import { setTimeout as sleep } from 'node:timers/promises';
import { type Database } from '../stage/database';
import { UNSENDABLE } from '../stream/event-record';
import { type Verdict } from './verdict';

/** Longer than a relay leaves a row alone that it will try again. */
const LOOK_MS = 15_000;

/** What can never be sent must be set aside and left alone, not tried for ever. */
export async function checkUnsendable(database: Database, verdict: Verdict): Promise<void> {
  const before = await readAttempts(database);
  if (before.size === 0) return;
  await sleep(LOOK_MS);
  for (const [id, attempts] of await readAttempts(database)) {
    const more = attempts - (before.get(id) ?? 0);
    if (more > 0) verdict.add('stuck-events', `${id} was tried ${attempts} times, ${more} of them in ${LOOK_MS} ms`);
  }
}

async function readAttempts(database: Database): Promise<Map<string, number>> {
  const rows = await database.query<{ id: string; attempts: number }>(
    `SELECT id, attempts FROM order_timeout.outbox WHERE routing_key LIKE '${UNSENDABLE}%'`,
  );
  return new Map(rows.map(({ id, attempts }) => [id, attempts]));
}

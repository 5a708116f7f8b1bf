import { setTimeout as sleep } from 'node:timers/promises';
import { type Client } from 'pg';
import { UNSENDABLE } from '../stream/event-record';
import { type Fault } from './fault';

const OUTBOX = 'order_timeout.outbox';
/** Above what the broker of a campaign takes; see open-stage.ts. */
const TOO_LARGE_BYTES = 3_000_000;
/** AMQP's short strings end at 255. */
const TOO_LONG = 300;
/** Enough that to step over them shows; millions of them are made by an hour of a busy shop. */
const DEAD_ROWS = 100_000;
/**
 * How often the claims of all instances together may step over the dead rows: they look back at the past for a few percent of
 * their time. Without a memory of where to begin it is some hundred times.
 */
const READS_PER_DEAD_ROW = 50;
/** Counters of index reads are told by each session after a second at the latest. */
const COUNTED_MS = 2_000;

/** An event that no broker takes. It must be set aside, and nothing else may wait for it. */
export const appendUnsendable: Fault = async ({ stage }, random, entry) => {
  const isLong = random.next() < 0.5;
  entry.says = isLong ? 'a routing key that is too long' : 'a body that is too large';
  const key = isLong ? UNSENDABLE.padEnd(TOO_LONG, 'x') : UNSENDABLE;
  await stage.database.query(
    `INSERT INTO ${OUTBOX} (id, route, routing_key, body)
     SELECT id, 'event', $1, jsonb_build_object('id', id, 'type', $1::text, 'filler', repeat('x', $2))
       FROM (SELECT gen_random_uuid() AS id) made`,
    [key, isLong ? 1 : TOO_LARGE_BYTES],
  );
};

/**
 * A pg_dump or an idle reader keeps rows from being vacuumed that died meanwhile, and claims step over them. How many
 * they read is counted: the time that takes depends on the machine.
 */
export const holdSnapshot: Fault = async ({ stage, signal }, random, entry) => {
  const client = await stage.database.connect();
  const ms = random.between(10_000, 20_000);
  entry.says = `for ${ms} ms`;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query(`SELECT count(*) FROM ${OUTBOX}`);
    await makeDeadRows(await stage.database.connect());
    await sleep(COUNTED_MS, undefined, { signal });
    const before = await readCount();
    await sleep(ms, undefined, { signal });
    const reads = (await readCount()) - before;
    const says = `${reads} index entries were read past ${DEAD_ROWS} dead rows in ${ms} ms`;
    entry.says = says;
    if (reads > DEAD_ROWS * READS_PER_DEAD_ROW) entry.breaches.push({ column: 'slow-claims', says });
  } catch {
    // Another fault has ended it.
    signal.throwIfAborted();
  } finally {
    await client.end().catch(() => undefined);
    await stage.database.query(`VACUUM ${OUTBOX}`);
  }

  async function readCount(): Promise<number> {
    const [row] = await stage.database.query<{ reads: string }>(
      `SELECT sum(idx_tup_read) AS reads FROM pg_stat_user_indexes WHERE schemaname || '.' || relname = $1`,
      [OUTBOX],
    );
    return Number(row?.reads ?? 0);
  }
};

/** Rows that nobody ever sees: made and deleted by one transaction, and older than all others by their index. */
async function makeDeadRows(client: Client): Promise<void> {
  try {
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO ${OUTBOX} (id, route, routing_key, body, available_at)
       SELECT gen_random_uuid(), 'event', '${UNSENDABLE}', '{}', now() - interval '1 hour' FROM generate_series(1, $1)`,
      [DEAD_ROWS],
    );
    await client.query(`DELETE FROM ${OUTBOX} WHERE routing_key = '${UNSENDABLE}' AND body = '{}'`);
    await client.query('COMMIT');
  } finally {
    await client.end().catch(() => undefined);
  }
}

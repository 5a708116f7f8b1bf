import { Client } from 'pg';
import { type Contestant, type Ring, type Sample } from '../contestant';
import { CLAIM_DUE, CLOSE_BATCH, LOCK_ORDERS, LOCK_STOCK } from './close-statements';
import { checkFloor, placeOverdue } from './placed-orders';

const BATCH = 200;

interface Claimed {
  readonly key: string;
  readonly cursor: string;
}

/** The bare statements of closing in batches, prepared, on so many connections of the driver. */
export function batchFloor(prefix: string, ordersIn: (ring: Ring) => number, connections: number): Contestant {
  return {
    name: `bare SQL, batches of ${BATCH}, ${connections} connection${connections === 1 ? '' : 's'}`,
    role: 'floor',
    run: async (ring) => {
      const count = ordersIn(ring);
      await placeOverdue(ring, prefix, count);
      const seconds = await closeAll(ring, connections);
      await checkFloor(ring, prefix, count);
      return { perSecond: count / seconds } satisfies Sample;
    },
  };
}

async function closeAll(ring: Ring, connections: number): Promise<number> {
  const clients = Array.from({ length: connections }, () => new Client({ connectionString: ring.databaseUrl }));
  try {
    for (const client of clients) client.on('error', () => undefined);
    await Promise.all(clients.map((client) => client.connect()));
    const beganAt = performance.now();
    await Promise.all(clients.map(closeBatches));
    return (performance.now() - beganAt) / 1_000;
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

async function closeBatches(client: Client): Promise<void> {
  let last: Claimed = { key: '', cursor: '-infinity' };
  for (;;) {
    await client.query('BEGIN');
    const values = [last.cursor, last.key, BATCH];
    const { rows } = await client.query<Claimed>({ name: 'claim', text: CLAIM_DUE, values });
    const ids = [rows.map(({ key }) => key)];
    if (rows.length > 0) {
      await client.query({ name: 'orders', text: LOCK_ORDERS, values: ids });
      await client.query({ name: 'stock', text: LOCK_STOCK, values: ids });
      await client.query({ name: 'close', text: CLOSE_BATCH, values: ids });
    }
    await client.query('COMMIT');
    if (rows.length < BATCH) return;
    last = rows.at(-1) ?? last;
  }
}

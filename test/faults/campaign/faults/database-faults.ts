import { setTimeout as sleep } from 'node:timers/promises';
import { SKUS } from '../stream/plan-order';
import { type Fault } from './fault';

const SCHEMA = 'order_timeout';
/** Those that many orders have. */
const POPULAR = 3;

/** Ends some or all of the service's sessions in mid-work. */
export const terminateBackends: Fault = async ({ stage }, random, entry) => {
  const share = [1, 0.5, 0.2][random.between(0, 2)] ?? 1;
  entry.says = `${await stage.database.endSessions(share)} sessions`;
};

export const killDatabase: Fault = async ({ stage, signal }, random) => {
  await stage.databases.killPrimary();
  await sleep(random.between(0, 3_000), undefined, { signal });
  await stage.databases.startPrimary();
};

export const restartDatabase: Fault = async ({ stage }) => {
  await stage.databases.stopPrimary();
  await stage.databases.startPrimary();
};

/** Tables and indexes cannot grow. What is there can be read, and changed where its pages have room. */
export const fillDisk: Fault = async ({ stage: { databases }, signal }, random, entry) => {
  const { disk } = databases;
  if (!disk) throw new Error('the database of this run has no disk of its own');
  const ms = random.between(2_000, 15_000);
  entry.says = `for ${ms} ms`;
  try {
    await disk.fill();
    await sleep(ms, undefined, { signal });
  } finally {
    disk.free();
  }
};

/** Somebody at a console: a transaction that stays open, and in half of the cases holds rows that we need. */
export const openLongTransaction: Fault = async ({ stage, signal }, random, entry) => {
  const client = await stage.database.connect();
  const isLocking = random.next() < 0.5;
  const ms = isLocking ? random.between(2_000, 6_000) : random.between(5_000, 15_000);
  entry.says = `${isLocking ? 'with locks' : 'reading'} for ${ms} ms`;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query(`SELECT count(*) FROM ${SCHEMA}.orders`);
    if (isLocking) {
      const half = `WHERE id IN (SELECT id FROM ${SCHEMA}.orders WHERE status = 'PENDING' LIMIT 20)`;
      await client.query('COMMIT; BEGIN');
      await client.query(`SELECT 1 FROM ${SCHEMA}.orders ${half} FOR UPDATE SKIP LOCKED`);
      await client.query(`SELECT 1 FROM ${SCHEMA}.timeout WHERE state = 'pending' LIMIT 20 FOR UPDATE SKIP LOCKED`);
    }
    await sleep(ms, undefined, { signal });
    await client.query('ROLLBACK');
  } catch {
    // Another fault has ended it.
    signal.throwIfAborted();
  } finally {
    await client.end().catch(() => undefined);
  }
};

/** An import or a console that keeps one article's stock: who has that article waits, and nobody else may. */
export const lockStockRow: Fault = async ({ stage, signal }, random, entry) => {
  const sku = SKUS[random.between(0, POPULAR - 1)] ?? '';
  const ms = random.between(8_000, 40_000);
  entry.sku = sku;
  entry.says = `${sku} for ${ms} ms`;
  const client = await stage.database.connect();
  try {
    await client.query('BEGIN');
    await client.query(`SELECT 1 FROM ${SCHEMA}.inventory WHERE sku = $1 FOR UPDATE`, [sku]);
    await sleep(ms, undefined, { signal });
    await client.query('ROLLBACK');
  } catch {
    // Another fault has ended it.
    signal.throwIfAborted();
  } finally {
    await client.end().catch(() => undefined);
  }
};

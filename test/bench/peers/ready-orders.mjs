import { readFileSync } from 'node:fs';
import { load } from './packages.mjs';

const parts = readFileSync(new URL('order-closing.sql', import.meta.url), 'utf8')
  .split(/^-- name: /m)
  .slice(1);
/** @type {Record<string, string>} */
const sql = Object.fromEntries(
  parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n'))]),
);
const poolSize = 10;
const one = ['lockOne', 'closeOne', 'historyOne', 'releaseOne', 'restockOne'];
const many = ['lockMany', 'closeMany', 'historyMany', 'releaseMany', 'lockStockMany', 'restockMany'];

/**
 * Orders that wait to be closed, and two ways to do it. Without `query`, in a transaction of their own.
 *
 * @param {string} databaseUrl
 * @param {number} count  their ids are 0 … count - 1
 */
export async function readyOrders(databaseUrl, count) {
  const pool = new (load('pg').Pool)({ connectionString: databaseUrl, max: poolSize });
  await pool.query(sql.create);
  await pool.query(sql.fill, [count]);
  await pool.query(sql.reserve, [count]);
  await pool.query(sql.stock);
  await pool.query(sql.analyze);
  /** @typedef {import('./shapes.mjs').Query | undefined} MaybeQuery */
  return {
    closeEach: async (/** @type {number[]} */ ids, /** @type {MaybeQuery} */ query) => {
      if (!query) return Promise.all(ids.map((id) => inTransaction(pool, (own) => close(own, one, id))));
      for (const id of ids) await close(query, one, id);
    },
    closeTogether: (/** @type {number[]} */ ids, /** @type {MaybeQuery} */ query) =>
      query ? close(query, many, ids) : inTransaction(pool, (own) => close(own, many, ids)),
    assertClosed: async () => {
      const { rows } = await pool.query(sql.wrong);
      if (Number(rows[0].count) !== 0) throw new Error(`${rows[0].count} rows are not as a closed order leaves them`);
    },
    end: () => pool.end(),
  };
}

/** @param {import('./shapes.mjs').Query} query @param {string[]} steps @param {number | number[]} ids */
async function close(query, [lock = '', ...rest], ids) {
  const rows = await query(sql[lock] ?? '', [ids]);
  if (rows.some(({ status }) => status !== 'PENDING')) throw new Error('an order was closed before');
  for (const step of rest) await query(sql[step] ?? '', [ids]);
}

/** @param {any} pool @param {(query: import('./shapes.mjs').Query) => Promise<unknown>} work */
async function inTransaction(pool, work) {
  const client = await pool.connect();
  const query = async (/** @type {string} */ text, /** @type {unknown[]} */ values) =>
    (await client.query(text, values)).rows;
  try {
    await client.query('begin');
    await work(/** @type {any} */ (query));
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

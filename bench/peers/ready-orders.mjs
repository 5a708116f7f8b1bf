import { readFileSync } from 'node:fs';
import { load } from './packages.mjs';

const parts = readFileSync(new URL('order-closing.sql', import.meta.url), 'utf8')
  .split(/^-- name: /m)
  .slice(1);
/** @type {Record<string, string>} */
const sql = Object.fromEntries(
  parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n'))]),
);
/** @param {string} name */
function statement(name) {
  const text = sql[name];
  if (text === undefined) throw new Error(`order-closing.sql has no ${name}`);
  return text;
}
const poolSize = 10;
const one = ['lockOne', 'closeOne', 'historyOne', 'releaseOne', 'restockOne'];
const many = ['lockMany', 'closeMany', 'historyMany', 'releaseMany', 'lockStockMany', 'restockMany'];

const { Pool } = /** @type {typeof import('pg')} */ (load('pg'));

/**
 * Orders that wait to be closed, and two ways to do it. Without `query`, in a transaction of their own.
 *
 * @param {string} databaseUrl
 * @param {number} count  their ids are 0 … count - 1
 */
export async function readyOrders(databaseUrl, count) {
  const pool = new Pool({ connectionString: databaseUrl, max: poolSize });
  await pool.query(statement('create'));
  await pool.query(statement('fill'), [count]);
  await pool.query(statement('reserve'), [count]);
  await pool.query(statement('stock'));
  await pool.query(statement('analyze'));
  /** @typedef {import('./shapes.mjs').Query | undefined} MaybeQuery */
  return {
    closeEach: async (/** @type {number[]} */ ids, /** @type {MaybeQuery} */ query) => {
      if (!query) return Promise.all(ids.map((id) => inTransaction(pool, (own) => close(own, one, id))));
      for (const id of ids) await close(query, one, id);
    },
    closeTogether: (/** @type {number[]} */ ids, /** @type {MaybeQuery} */ query) =>
      query ? close(query, many, ids) : inTransaction(pool, (own) => close(own, many, ids)),
    assertClosed: async () => {
      /** @type {import('pg').QueryResult<{ count: string }>} */
      const { rows } = await pool.query(statement('wrong'));
      const count = rows[0]?.count ?? 'unknown';
      if (Number(count) !== 0) throw new Error(`${count} rows are not as a closed order leaves them`);
    },
    end: () => pool.end(),
  };
}

/** @param {import('./shapes.mjs').Query} query @param {string[]} steps @param {number | number[]} ids */
async function close(query, [lock = '', ...rest], ids) {
  const rows = /** @type {{ status: string }[]} */ (await query(statement(lock), [ids]));
  if (rows.some(({ status }) => status !== 'PENDING')) throw new Error('an order was closed before');
  for (const step of rest) await query(statement(step), [ids]);
}

/** @param {import('pg').Pool} pool @param {(query: import('./shapes.mjs').Query) => Promise<unknown>} work */
async function inTransaction(pool, work) {
  const client = await pool.connect();
  /** @type {import('./shapes.mjs').Query} */
  const query = async (text, values) => {
    /** @type {import('pg').QueryResult<import('pg').QueryResultRow>} */
    const { rows } = await client.query(text, values);
    return rows;
  };
  try {
    await client.query('begin');
    await work(query);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { lastLineOf } from './last-line-of.mjs';
import { parseJson } from '../setup/files.mjs';
import { run } from '../setup/run.mjs';
import { inThrowAwayPlaces } from './throw-away-places.mjs';

const runLimitMs = 2 * 60_000;
/** The guarantee with a working broker is some tens of milliseconds, and the machine is busy. */
const latestMs = 5_000;

/** What test/hosts/shop/try-out.ts must find on each host. */
const expected = {
  stock: '200 application/json',
  placed: '201 application/json PENDING',
  replayed: '200 application/json PENDING',
  invalid: '400 application/problem+json VALIDATION_FAILED',
  unknown: '404 application/problem+json ORDER_NOT_FOUND',
  withoutKey: '401 application/problem+json UNAUTHORIZED',
  ready: '200 application/json ready',
  metrics: 200,
  transactions: { baskets: ['committed'], orders: ['none', 'PENDING'] },
  notified: ['400 rejected', '200 accepted', '200 application/json PAID'],
  command: 'CANCELLED',
  ownTimeout: 'hello',
};

/** @typedef {{ cause: string, lateMs: number }} Closing */

/**
 * Runs a compiled host to its end.
 *
 * @param {{ folder: string, program: string, node: string }} host  `node`: the binary
 * @param {{ servers: import('./throw-away-places.mjs').Servers, signal: AbortSignal }} options
 * @returns {Promise<Closing>} how its order was closed
 * @throws Error if anything else was found than what must be
 */
export async function runHost({ folder, program, node }, { servers, signal }) {
  const printed = await inThrowAwayPlaces(servers, (places) =>
    run(node, [join('dist', program)], {
      ...{ cwd: folder, env: { ...process.env, NODE_OPTIONS: '', ...places } },
      ...{ limitMs: runLimitMs, signal, what: `${program} in ${folder}` },
    }),
  );
  const { closed, ...found } = /** @type {{ closed: Closing & { to: string } }} */ (parseJson(lastLineOf(printed)));
  assert.deepEqual(found, expected);
  const { to, cause, lateMs } = closed;
  assert.equal(to, 'CLOSED');
  assert.ok(lateMs >= 0 && lateMs < latestMs, `closed ${lateMs} ms after the deadline`);
  return { cause, lateMs };
}

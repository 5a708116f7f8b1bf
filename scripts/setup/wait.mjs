import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks again and again until the answer is truthy. Bounded, and ended by the signal.
 *
 * @template T
 * @param {() => T | Promise<T>} ask
 * @param {{ everyMs?: number, limitMs: number, signal?: AbortSignal | undefined }} options
 * @returns {Promise<T | undefined>} undefined when the limit has passed
 */
export async function waitUntil(ask, { everyMs = 200, limitMs, signal }) {
  const end = performance.now() + limitMs;
  for (;;) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) return undefined;
    await sleep(everyMs, undefined, { signal });
  }
}

/**
 * @param {number} port
 * @param {string} [host]
 * @param {number} [limitMs]
 * @returns {Promise<boolean>} whether something accepts connections there
 */
export function canConnect(port, host = '127.0.0.1', limitMs = 2000) {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const answer = (/** @type {boolean} */ open) => {
      socket.destroy();
      resolve(open);
    };
    socket.setTimeout(limitMs, () => answer(false));
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}

import { readyOrders } from './ready-orders.mjs';
import { Tally } from './tally.mjs';

/**
 * @typedef {{ index: number, dueAtMs: number }} Job
 * @typedef {(sql: string, values?: unknown[]) => Promise<unknown[]>} Query
 *
 * @typedef {object} Peer
 * @property {(job: Job) => Promise<unknown>} schedule
 * @property {(jobs: Job[]) => Promise<unknown>} scheduleMany
 * @property {(handle: (jobs: readonly Job[], query?: Query) => Promise<unknown> | void) => Promise<unknown>} work
 *   starts the workers; `handle` gets one job at a time, except where the peer itself hands out more; `query` is of
 *   the transaction that the job ends with, where the peer has such a thing
 * @property {() => Promise<number>} waiting  jobs that are not done
 * @property {() => Promise<unknown>} close
 *
 * @typedef {(task: import('./program.mjs').Task) => Promise<Peer>} OpenPeer
 */

const farAwayMs = 3_600_000;
const callers = 50;
// What each of them takes well: above it none gets faster, and a command of Redis holds up everybody else.
const chunkSize = 1000;
const patienceMs = 120_000;

const perSecond = (/** @type {number} */ count, /** @type {number} */ sinceMs, endMs = performance.now()) =>
  (count * 1000) / (endMs - sinceMs);

/** @param {import('./program.mjs').Task} task @returns {Job[]} from the instant on, evenly spread */
const jobsOf = ({ count, spreadMs }, /** @type {number} */ instant) =>
  Array.from({ length: count }, (_, index) => ({ index, dueAtMs: instant + Math.floor((index * spreadMs) / count) }));

/** @template T @param {T[]} all @param {number} at @param {(item: T) => Promise<unknown>} send */
async function sendAll(all, at, send) {
  const items = all[Symbol.iterator]();
  const caller = async () => {
    for (const item of items) await send(item);
  };
  await Promise.all(Array.from({ length: at }, caller));
}

/** @param {Job[]} jobs @returns {Job[][]} */
const chunksOf = (jobs) =>
  Array.from({ length: Math.ceil(jobs.length / chunkSize) }, (_, i) => jobs.slice(i * chunkSize, (i + 1) * chunkSize));

/** @param {Peer} peer @param {number} count */
async function assertWaiting(peer, count) {
  const waiting = await peer.waiting();
  if (waiting !== count) throw new Error(`${waiting} jobs are waiting, not ${count}`);
}

/** @param {OpenPeer} open @param {import('./program.mjs').Task} task */
async function schedule(open, task) {
  const peer = await open(task);
  const jobs = jobsOf(task, Date.now() + farAwayMs);
  const startedAt = performance.now();
  await sendAll(jobs, callers, (job) => peer.schedule(job));
  const result = { perSecond: perSecond(jobs.length, startedAt) };
  await assertWaiting(peer, jobs.length);
  await peer.close();
  return result;
}

/** @param {OpenPeer} open @param {import('./program.mjs').Task} task */
async function bulk(open, task) {
  const peer = await open(task);
  const jobs = jobsOf(task, Date.now() + farAwayMs);
  const startedAt = performance.now();
  // Two chunks under way: the one is made while the other is stored.
  await sendAll(chunksOf(jobs), 2, (chunk) => peer.scheduleMany(chunk));
  const result = { perSecond: perSecond(jobs.length, startedAt) };
  await assertWaiting(peer, jobs.length);
  await peer.close();
  return result;
}

/**
 * Everything is scheduled before it is due, and the workers wait for it.
 *
 * @param {OpenPeer} open @param {import('./program.mjs').Task} task
 * @param {(jobs: readonly Job[], query?: Query) => Promise<unknown> | void} [handle]
 */
async function runWhenDue(open, task, handle) {
  const peer = await open(task);
  const tally = new Tally(task.count);
  await peer.work((jobs, query) => {
    const startedAtMs = Date.now();
    for (const job of jobs) tally.add(job, startedAtMs);
    return handle?.(jobs, query);
  });
  const instant = Date.now() + task.leadMs;
  for (const chunk of chunksOf(jobsOf(task, instant))) await peer.scheduleMany(chunk);
  if (Date.now() > instant) throw new Error(`${task.count} jobs were not scheduled within ${task.leadMs} ms`);
  await tally.all(task.leadMs + task.spreadMs + patienceMs);
  while ((await peer.waiting()) > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  const seconds = (Date.now() - instant) / 1000;
  await peer.close();
  return { perSecond: task.count / seconds, ...tally.result() };
}

/** @param {OpenPeer} open @param {import('./program.mjs').Task} task */
async function fire(open, task) {
  const result = await runWhenDue(open, task);
  if (result.repeated > 0) throw new Error(`${result.repeated} jobs ran more than once`);
  return result;
}

/**
 * A job may run again when its transaction was rolled back; that each order was closed once is asked of the database.
 *
 * @param {OpenPeer} open @param {import('./program.mjs').Task} task
 */
async function close(open, task) {
  const orders = await readyOrders(task.databaseUrl, task.count);
  const handle = task.isBatched ? orders.closeTogether : orders.closeEach;
  const result = await runWhenDue(open, task, (jobs, query) =>
    handle(
      jobs.map(({ index }) => index),
      query,
    ),
  );
  await orders.assertClosed();
  await orders.end();
  return result;
}

/** What a peer can be asked to do; each returns what it measured. */
export const shapes = { schedule, bulk, fire, close };

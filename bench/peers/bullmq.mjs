import { load } from './packages.mjs';

/**
 * @typedef {{ timestamp: number, delay: number }} JobOptions
 * @typedef {{ name: string, data: import('./shapes.mjs').Job, opts: JobOptions }} NewJob
 *
 * @typedef {object} Queue
 * @property {() => Promise<unknown>} waitUntilReady
 * @property {(name: string, data: import('./shapes.mjs').Job, options: JobOptions) => Promise<unknown>} add
 * @property {(jobs: NewJob[]) => Promise<unknown>} addBulk
 * @property {(...types: string[]) => Promise<number>} getJobCountByTypes
 * @property {() => Promise<void>} close
 *
 * @typedef {{ waitUntilReady(): Promise<unknown>, close(): Promise<void> }} Worker
 * @typedef {(job: { data: import('./shapes.mjs').Job }) => Promise<unknown> | void} Processor
 *
 * @typedef {object} Bullmq
 * @property {new (name: string, options: object) => Queue} Queue
 * @property {new (name: string, process: Processor, options: object) => Worker} Worker
 */
const { Queue, Worker } = /** @type {Bullmq} */ (load('bullmq'));

// With 20 it drains at less than half the speed; 100, 200, and four workers of 50 each were not faster in single runs.
// With a transaction each, ten are in the database and the others wait for a connection.
const concurrency = 50;

/** @type {import('./shapes.mjs').OpenPeer} */
export async function openPeer({ redisUrl, shape }) {
  const { hostname: host, port } = new URL(redisUrl);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue(shape, { connection, defaultJobOptions: { removeOnComplete: true } });
  await queue.waitUntilReady();
  /** @type {Worker[]} */
  const workers = [];
  return {
    schedule: (job) => queue.add('job', job, optionsOf(job)),
    scheduleMany: (jobs) => queue.addBulk(jobs.map((job) => ({ name: 'job', data: job, opts: optionsOf(job) }))),
    work: async (handle) => {
      const worker = new Worker(shape, (job) => handle([job.data]), { connection, concurrency });
      workers.push(worker);
      await worker.waitUntilReady();
    },
    waiting: () => queue.getJobCountByTypes('waiting', 'delayed', 'active', 'prioritized'),
    close: async () => {
      for (const worker of workers) await worker.close();
      await queue.close();
    },
  };
}

/** @param {import('./shapes.mjs').Job} job */
function optionsOf({ dueAtMs }) {
  const timestamp = Date.now();
  return { timestamp, delay: dueAtMs - timestamp };
}

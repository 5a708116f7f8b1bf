import { load } from './packages.mjs';

/**
 * @typedef {import('./shapes.mjs').Job} Job
 *
 * @typedef {object} Boss
 * @property {(event: 'error', listener: (error: unknown) => void) => unknown} on
 * @property {() => Promise<unknown>} start
 * @property {(name: string) => Promise<unknown>} createQueue
 * @property {(name: string, data: Job, options: { startAfter: Date }) => Promise<unknown>} send
 * @property {(name: string, jobs: { data: Job, startAfter: Date }[]) => Promise<unknown>} insert
 * @property {(name: string, options: object, handle: (jobs: { data: Job }[]) => Promise<unknown> | void) =>
 *   Promise<unknown>} work
 * @property {(options: { graceful: boolean }) => Promise<unknown>} stop
 */
const { PgBoss } = /** @type {{ PgBoss: new (options: object) => Boss }} */ (load('pg-boss'));
const { Pool } = /** @type {typeof import('pg')} */ (load('pg'));

// 0.5 s is the shortest interval it takes; while batches come back full, workers fetch again at once. Of 2, 4 and 8
// workers and batches of 500 to 2000, these had the best single drain (24 000/s), but runs of one setting differ by
// nearly a factor of 2 on a shared machine, so its neighbors may be as good.
const fast = { pollingIntervalSeconds: 0.5, burstWhenBatchFull: true, localConcurrency: 4 };
const batchSize = 1000;
// Ten transactions are under way whatever the batch; with smaller ones the end is not left to a single worker.
const closingBatchSize = 100;

/** @type {import('./shapes.mjs').OpenPeer} */
export async function openPeer({ databaseUrl, shape }) {
  const schema = `pgboss_${shape}`;
  const boss = new PgBoss({ connectionString: databaseUrl, schema, max: 10, schedule: false, supervise: false });
  boss.on('error', (error) => process.stderr.write(`${String(error)}\n`));
  await boss.start();
  await boss.createQueue('jobs');
  const pool = new Pool({ connectionString: databaseUrl, max: 1 });
  const options = { ...fast, batchSize: shape === 'close' ? closingBatchSize : batchSize };
  const waiting = `select count(*)::int as count from ${schema}.job where state < 'completed'`;
  return {
    schedule: (job) => boss.send('jobs', job, { startAfter: new Date(job.dueAtMs) }),
    scheduleMany: (jobs) =>
      boss.insert(
        'jobs',
        jobs.map((job) => ({ data: job, startAfter: new Date(job.dueAtMs) })),
      ),
    work: (handle) => boss.work('jobs', options, (jobs) => handle(jobs.map(({ data }) => data))),
    waiting: async () => {
      /** @type {import('pg').QueryResult<{ count: number }>} */
      const { rows } = await pool.query(waiting);
      return rows[0]?.count ?? Number.NaN;
    },
    close: async () => {
      await pool.end();
      await boss.stop({ graceful: true });
    },
  };
}

import { load } from './packages.mjs';

const { PgBoss } = load('pg-boss');
const { Pool } = load('pg');

// 0.5 s is the shortest interval it takes; while batches come back full, workers fetch again at once. Of 2, 4 and 8
// workers and batches of 500 to 2000, these had the best single drain (24 000/s), but runs of one setting differ by
// nearly a factor of 2 on a shared machine, so its neighbours may be as good.
const fast = { pollingIntervalSeconds: 0.5, burstWhenBatchFull: true, localConcurrency: 4 };
const batchSize = 1000;
// Ten transactions are under way whatever the batch; with smaller ones the end is not left to a single worker.
const closingBatchSize = 100;

/** @type {import('./shapes.mjs').OpenPeer} */
export async function openPeer({ databaseUrl, shape }) {
  const schema = `pgboss_${shape}`;
  const boss = new PgBoss({ connectionString: databaseUrl, schema, max: 10, schedule: false, supervise: false });
  boss.on('error', (/** @type {unknown} */ error) => process.stderr.write(`${error}\n`));
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
    work: (handle) => boss.work('jobs', options, (/** @type {any[]} */ jobs) => handle(jobs.map(({ data }) => data))),
    waiting: async () => (await pool.query(waiting)).rows[0].count,
    close: async () => {
      await pool.end();
      await boss.stop({ graceful: true });
    },
  };
}

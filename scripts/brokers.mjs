// npm run suite -- brokers [--only 3.10|4.0|4.3|cluster]: the specs of the transports and of the engine, and the
// main scenario, on every series of RabbitMQ that we promise; then a cluster that loses nodes. docs/broker-matrix.md
import { printMatrix } from './brokers/print-matrix.mjs';
import { obtainSeries } from './brokers/obtain-series.mjs';
import { runCluster } from './brokers/run-cluster.mjs';
import { runSeries } from './brokers/run-series.mjs';
import { allParts, allSeries, cluster, clusterSeries } from './brokers/series.mjs';
import { ensureBuilds } from './setup/build.mjs';
import { showProgress } from './setup/progress.mjs';
import { describeError, SetupError } from './setup/setup-error.mjs';
import { serverHome } from './stack/server-user.mjs';
import { ensureServers } from './stack/servers.mjs';
import { readOptions } from './stack/throw-away-place.mjs';

/** @typedef {import('./brokers/print-matrix.mjs').MatrixRow} MatrixRow */

/** @param {string[]} args @returns {string[]} */
function readParts(args) {
  const { only } = readOptions(args, ['only']);
  if (only === undefined) return allParts;
  if (allParts.includes(only)) return [only];
  throw new SetupError('USAGE', `--only ${only}: there is no such part`, { remedy: `one of ${allParts.join(', ')}` });
}

/** @param {AbortSignal} signal */
async function prepare(signal) {
  // The demo would build it too, and its time would be that of the compiler.
  await ensureBuilds({ signal });
  return ensureServers(['postgres'], { signal });
}

/** @param {import('./brokers/series.mjs').Series} series @param {AbortSignal} signal */
function obtain(series, signal) {
  const { home, user } = serverHome();
  return showProgress(`RabbitMQ ${series.name} (${series.suite})`, (note) =>
    obtainSeries(series, { home, shared: Boolean(user), signal, note }),
  );
}

/** @typedef {{ databaseUrl: string, signal: AbortSignal }} Options */

/** @param {import('./brokers/series.mjs').Series} series @param {Options} options @returns {Promise<MatrixRow[]>} */
async function runOneNode(series, options) {
  const installation = await obtain(series, options.signal);
  const results = await runSeries(series.name, installation, options);
  return results.map((result) => ({ broker: installation.version, ...result }));
}

/** @param {import('./brokers/series.mjs').Series} series @param {Options} options @returns {Promise<MatrixRow[]>} */
async function runThreeNodes(series, options) {
  const { version } = await obtain(series, options.signal);
  return [{ broker: `3 × ${version}`, ...(await runCluster(series.name, options)) }];
}

/** @typedef {{ part: string, series: import('./brokers/series.mjs').Series, work: typeof runOneNode }} Step */
/** @type {Step[]} */
const plan = [
  ...allSeries.map((series) => ({ part: series.name, series, work: runOneNode })),
  ...clusterSeries.map((series) => ({ part: cluster, series, work: runThreeNodes })),
];

/** What cannot be run is a failure of its own; the others are still worth knowing. @param {Step} step @param {Options} options @returns {Promise<MatrixRow[]>} */
async function tryToRun({ series, part, work }, options) {
  try {
    return await work(series, options);
  } catch (error) {
    options.signal.throwIfAborted();
    const result = { passed: 0, failed: 1, skipped: 0, ms: 0, failures: [describeError(error)] };
    return [{ broker: series.name, suite: `${part}: could not be run`, ...result }];
  }
}

/** @param {{ args: string[], signal: AbortSignal }} context */
export async function runBrokers({ args, signal }) {
  const parts = readParts(args);
  const servers = await prepare(signal);
  const options = { databaseUrl: servers.postgres?.url ?? '', signal };
  const rows = [];
  for (const step of plan.filter(({ part }) => parts.includes(part))) rows.push(...(await tryToRun(step, options)));
  printMatrix(rows);
  // As the reporter of Jest has it, see test/support/closing-line-reporter.js.
  const allowsSkips = !process.env.OT_NO_SKIPS;
  return rows.every(({ failed, skipped }) => failed === 0 && (allowsSkips || skipped === 0)) ? 0 : 1;
}

// npm run suite -- brokers [--only 3.10|4.0|4.3|cluster]: the specs of the transports and of the engine, and the
// main scenario, on every series of RabbitMQ that we promise; then a cluster that loses nodes. docs/internals/broker-matrix.md
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join, relative, sep } from 'node:path';
import { ensureBuilds, typescript } from '../../scripts/setup/build.mjs';
import { codeOf, describeError, SetupError } from '../../scripts/setup/errors.mjs';
import { parseJson } from '../../scripts/setup/files.mjs';
import { repository, stackFolder } from '../../scripts/setup/paths.mjs';
import { run } from '../../scripts/setup/processes.mjs';
import { seconds, showProgress } from '../../scripts/setup/progress.mjs';
import { readOptions, serverHome } from '../../scripts/stack/place.mjs';
import { ensureServers } from '../../scripts/stack/servers.mjs';
import { allParts, allSeries, cluster, clusterSeries, obtainSeries } from './series.mjs';
import { startNode } from './start-nodes.mjs';

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

/** @param {import('./series.mjs').Series} series @param {AbortSignal} signal */
function obtain(series, signal) {
  const { home, user } = serverHome();
  return showProgress(`RabbitMQ ${series.name} (${series.suite})`, (note) =>
    obtainSeries(series, { home, shared: Boolean(user), signal, note }),
  );
}

/** @typedef {{ databaseUrl: string, signal: AbortSignal }} Options */

/** @param {import('./series.mjs').Series} series @param {Options} options @returns {Promise<MatrixRow[]>} */
async function runOneNode(series, options) {
  const installation = await obtain(series, options.signal);
  const results = await runSeries(series.name, installation, options);
  return results.map((result) => ({ broker: installation.version, ...result }));
}

/** @param {import('./series.mjs').Series} series @param {Options} options @returns {Promise<MatrixRow[]>} */
async function runThreeNodes(series, options) {
  const { version } = await obtain(series, options.signal);
  return [{ broker: `3 × ${version}`, ...(await runCluster(series.name, options)) }];
}

/** @typedef {{ part: string, series: import('./series.mjs').Series, work: typeof runOneNode }} Step */
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

const demoLimitMs = 10 * 60_000;
const specs = 'test/integration/(delay|rabbit|timeouts)/';

/** @typedef {import('../../scripts/stack/rabbitmq.mjs').RabbitmqInstallation} RabbitmqInstallation */
/** @typedef {import('../../scripts/stack/rabbitmq.mjs').RabbitmqAccess} RabbitmqAccess */
/** @typedef {Record<string, string | undefined>} Environment */
/** @typedef {'plain' | 'plugin'} Profile */

/**
 * What the tests read from their environment to meet this broker and no other.
 *
 * @param {RabbitmqInstallation} installation
 * @param {RabbitmqAccess} plain   access to the node without x-delayed-message
 * @param {RabbitmqAccess} plugin  access to the node with it
 * @returns {Environment}
 */
export const environmentOf = (installation, plain, plugin) => ({
  RABBITMQ_URLS: plain.url,
  RABBITMQ_MANAGEMENT_URL: plain.managementUrl,
  RABBITMQ_PLUGIN_URLS: plugin.url,
  RABBITMQ_PLUGIN_MANAGEMENT_URL: plugin.managementUrl,
  DELAYED_EXCHANGE: plugin.delayedExchange,
  ...programsOf(installation),
});

/** A test that starts a broker of its own, to kill it, finds the same programs by these. */
export const programsOf = (/** @type {RabbitmqInstallation} */ { rabbitHome, erlangBin }) => ({
  RABBITMQ_HOME: rabbitHome,
  PATH: [erlangBin, process.env.PATH].join(delimiter),
});

/**
 * @param {string} name  of the series
 * @param {RabbitmqInstallation} installation
 * @param {{ databaseUrl: string, signal: AbortSignal }} options
 * @returns {Promise<SuiteResult[]>}
 */
export async function runSeries(name, installation, { databaseUrl, signal }) {
  /** @type {import('./start-nodes.mjs').Node[]} */
  const nodes = [];
  const start = async (/** @type {Profile} */ profile) => {
    const what = `RabbitMQ ${installation.version}, ${profile}`;
    const node = await showProgress(what, () => startNode(installation, { profile, signal }));
    nodes.push(node);
    return node.access;
  };
  try {
    const plain = await start('plain');
    const plugin = await start('plugin');
    const env = { DATABASE_URL: databaseUrl, ...environmentOf(installation, plain, plugin) };
    const suites = await runSpecs(name, env, signal);
    const demos = [await runDemo(name, 'plain', env, signal)];
    demos.push(await runDemo(name, 'plugin', { ...env, ...asMain(plugin) }, signal));
    return [...suites, ...demos];
  } finally {
    await Promise.all(nodes.map(({ stop }) => stop()));
  }
}

/** @param {string} name @param {Environment} env @param {AbortSignal} signal @returns {Promise<SuiteResult[]>} */
function runSpecs(name, env, signal) {
  return showProgress(`specs on RabbitMQ ${name}`, async () => {
    const args = ['--selectProjects', 'integration', '--testPathPatterns', specs];
    const suites = await runJest({ name: `brokers-${name}`, args, env, signal });
    const own = [...ownSpecs, '--testPathPatterns', 'test/brokers/definitions'];
    const definitions = await runJest({ name: `brokers-${name}-definitions`, args: own, env, signal });
    return [...suites, ...definitions.map((result) => ({ ...result, suite: 'shipped definitions' }))];
  });
}

const asMain = (/** @type {RabbitmqAccess} */ { url, managementUrl }) => ({
  RABBITMQ_URLS: url,
  RABBITMQ_MANAGEMENT_URL: managementUrl,
});

/**
 * The main scenario. `auto` has to find out by itself what the broker can do.
 *
 * @param {string} name
 * @param {Profile} profile
 * @param {Environment} env
 * @param {AbortSignal} signal
 * @returns {Promise<SuiteResult>}
 */
async function runDemo(name, profile, env, signal) {
  const suite = `demo, ${profile}`;
  const logFile = join(stackFolder('log'), `brokers-${name}-demo-${profile}.log`);
  // With `npm run demo` somebody's edit of src would be built first, and show as a slow demo.
  const args = typescript('examples/demo/main.ts', ['--transport', 'auto', '--orders', '150']);
  const options = { cwd: repository, env: { ...process.env, ...env }, limitMs: demoLimitMs, signal, logFile };
  const beganAt = performance.now();
  const result = (/** @type {string[]} */ failures) => {
    const ms = performance.now() - beganAt;
    return { suite, passed: failures.length === 0 ? 1 : 0, failed: failures.length, skipped: 0, ms, failures };
  };
  return showProgress(`demo on RabbitMQ ${name}, ${profile}`, async () => {
    try {
      await run(process.execPath, args, options);
      return result([]);
    } catch (error) {
      signal.throwIfAborted();
      return result([describeError(error)]);
    }
  });
}

/**
 * @param {string} name  of the series
 * @param {{ databaseUrl: string, signal: AbortSignal }} options
 * @returns {Promise<SuiteResult & { figures: string[] }>}
 */
export function runCluster(name, { databaseUrl, signal }) {
  const figuresFile = join(stackFolder('log'), `brokers-${name}-cluster.figures`);
  rmSync(figuresFile, { force: true });
  const env = { DATABASE_URL: databaseUrl, BROKER_SERIES: name, BROKER_FIGURES_FILE: figuresFile };
  const args = [...ownSpecs, '--testPathPatterns', 'test/brokers/cluster'];
  return showProgress(`cluster of RabbitMQ ${name}`, async () => {
    const [result] = await runJest({ name: `brokers-${name}-cluster`, args, env, signal });
    if (!result) throw new Error('no spec was run');
    return { ...result, suite: 'cluster', figures: readFigures(figuresFile) };
  });
}

/** A spec that failed early has measured nothing. @param {string} path */
function readFigures(path) {
  try {
    return readFileSync(path, 'utf8').trim().split('\n');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

const limitMs = 15 * 60_000;
const jest = join(repository, 'node_modules', 'jest', 'bin', 'jest.js');

/** Arguments that name the specs in test/brokers, which `npm test` leaves out. */
export const ownSpecs = ['--config', join(repository, 'test', 'brokers', 'jest.config.js')];

/**
 * @typedef {object} JestFile  what jest says of one file
 * @property {string} name     its path
 * @property {string} status
 * @property {string} message
 * @property {number} startTime
 * @property {number} endTime
 * @property {{ status: string }[]} assertionResults
 */

/**
 * @typedef {object} SuiteResult
 * @property {string} suite    the folder of the specs
 * @property {number} passed
 * @property {number} failed   tests, and files that could not be run
 * @property {number} skipped
 * @property {number} ms       the time of its files added up, as two run at once
 * @property {string[]} failures
 */

/**
 * @param {{ name: string, args: string[], env: Record<string, string | undefined>, signal: AbortSignal }} options
 *   `name`: of the log below .stack/log
 * @returns {Promise<SuiteResult[]>} one per folder
 */
export async function runJest({ name, args, env, signal }) {
  const logFile = join(stackFolder('log'), `${name}.log`);
  const outputFile = join(stackFolder('log'), `${name}.json`);
  for (const path of [logFile, outputFile]) rmSync(path, { force: true });
  const all = [jest, '--json', `--outputFile=${outputFile}`, ...args];
  const options = { cwd: repository, env: { ...process.env, ...env }, limitMs, signal, logFile };
  try {
    await run(process.execPath, all, options);
  } catch (error) {
    // Failed tests are a result; anything else left none.
    if (!existsSync(outputFile)) throw error;
  }
  const report = /** @type {{ testResults: JestFile[] }} */ (parseJson(readFileSync(outputFile, 'utf8')));
  return resultsByFolder(report.testResults);
}

/** @param {JestFile[]} files @returns {SuiteResult[]} */
export function resultsByFolder(files) {
  /** @type {Map<string, SuiteResult>} */
  const suites = new Map();
  for (const file of files) {
    const suite = relative(repository, file.name).split(sep).slice(1, -1).join('/');
    const sum = suites.get(suite) ?? { suite, passed: 0, failed: 0, skipped: 0, ms: 0, failures: [] };
    suites.set(suite, sum);
    addFile(sum, file);
  }
  return [...suites.values()];
}

/** @param {SuiteResult} sum @param {JestFile} file */
function addFile(sum, { assertionResults: tests, status, message, startTime, endTime, name }) {
  const count = (/** @type {string[]} */ ...wanted) => tests.filter((test) => wanted.includes(test.status)).length;
  sum.passed += count('passed');
  sum.failed += count('failed');
  sum.skipped += count('pending', 'todo', 'disabled', 'skipped');
  sum.ms += endTime - startTime;
  if (status !== 'failed') return;
  // A file that does not even load has no tests to fail.
  if (count('failed') === 0) sum.failed += 1;
  sum.failures.push(`${relative(repository, name)}\n${message}`);
}

/**
 * @typedef {SuiteResult & { broker: string, figures?: string[] }} MatrixRow
 *   `broker`: its version; `figures`: what was measured, a line each
 */

const heads = ['RabbitMQ', 'suite', 'passed', 'failed', 'skipped', 'time'];

/** @param {MatrixRow} row */
const cellsOf = ({ broker, suite, passed, failed, skipped, ms }) =>
  [broker, suite, passed, failed, skipped, seconds(ms)].map(String);

/**
 * @param {MatrixRow[]} rows
 * @returns {string} the table, numbers to the right
 */
export function renderMatrix(rows) {
  const lines = [heads, ...rows.map(cellsOf)];
  const widths = heads.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const pad = (/** @type {string} */ cell, /** @type {number} */ column) =>
    column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return lines.map((cells) => cells.map(pad).join('  ')).join('\n');
}

/** Failures first, so that the table is what one sees at the end. @param {MatrixRow[]} rows */
export function printMatrix(rows) {
  const print = (/** @type {string} */ text) => process.stdout.write(`${text}\n`);
  for (const { broker, suite, failures } of rows)
    for (const failure of failures) print(`\nFAILED on RabbitMQ ${broker}, ${suite}\n${failure}`);
  print('');
  for (const { broker, figures = [] } of rows) for (const figure of figures) print(`${broker}  ${figure}`);
  print(`\n${renderMatrix(rows)}\n`);
  const failed = rows.filter((row) => row.failed > 0).length;
  print(failed === 0 ? `all ${rows.length} rows are green` : `${failed} of ${rows.length} rows FAIL`);
}

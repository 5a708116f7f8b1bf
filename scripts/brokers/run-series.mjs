import { delimiter, join } from 'node:path';
import { repository, stackFolder } from '../setup/paths.mjs';
import { showProgress } from '../setup/progress.mjs';
import { run } from '../setup/run.mjs';
import { describeError } from '../setup/setup-error.mjs';
import { typescript } from '../setup/typescript.mjs';
import { ownSpecs, runJest } from './run-jest.mjs';
import { startNode } from './start-node.mjs';

const demoLimitMs = 10 * 60_000;
const specs = 'test/integration/(delay|rabbit|timeouts)/';

/** @typedef {import('./run-jest.mjs').SuiteResult} SuiteResult */
/** @typedef {import('../stack/rabbitmq-installation.mjs').RabbitmqInstallation} RabbitmqInstallation */
/** @typedef {import('../stack/rabbitmq-server.mjs').RabbitmqAccess} RabbitmqAccess */
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
  /** @type {import('./start-node.mjs').Node[]} */
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

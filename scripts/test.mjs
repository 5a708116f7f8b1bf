// npm test: everything that must hold, from a bare clone. npm test -- --ci: the same without the checks that are the same on
// every machine. With other arguments: Jest alone, with these arguments.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runAllTests, runJest } from './setup/run-jest.mjs';
import { ensureBuilds, ensureDependencies, npm } from './setup/build.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { say, seconds } from './setup/progress.mjs';
import { run, together } from './setup/processes.mjs';
import { describeError } from './setup/errors.mjs';
import { environmentFor, ensureServers } from './stack/servers.mjs';

const checkLimitMs = 20 * 60_000;

/** Behind the tests, which wait for servers and say something about time. @param {string} what @param {[string, string[]]} command */
const check =
  (what, [command, args]) =>
  (/** @type {AbortSignal} */ signal) =>
    run(command, args, { cwd: repository, limitMs: checkLimitMs, niceness: 10, signal, what });

const npmScript = (/** @type {string} */ name) => check(`npm run ${name}`, npm(['run', '--silent', name]));
const node = (/** @type {string[]} */ ...args) => check(`node ${args.slice(0, 2).join(' ')}`, [process.execPath, args]);

// By name: what a folder after --test means differs between versions of Node.
const ownTests = ['scripts/tests', 'test/brokers', 'test/compose', 'bench'].flatMap((folder) =>
  readdirSync(join(repository, folder))
    .filter((name) => name.endsWith('.test.mjs'))
    .map((name) => join(folder, name)),
);

const checks = {
  types: npmScript('typecheck'),
  lint: npmScript('lint'),
  format: npmScript('format:check'),
  'public API': npmScript('api'),
  'unused code': node(join('node_modules', 'knip', 'bin', 'knip.js'), '--production'),
  'set-up tests': node('--test', ...ownTests),
};

/** @typedef {{ name: string, error?: unknown }} CheckResult */

/**
 * @param {string} name
 * @param {(signal: AbortSignal) => Promise<unknown>} work
 * @param {AbortSignal} signal
 * @returns {Promise<CheckResult>} a failed check is a result: the others are still worth knowing
 */
async function runCheck(name, work, signal) {
  const startedAt = performance.now();
  const tell = (/** @type {string} */ how) => say(`${how}  ${name} (${seconds(performance.now() - startedAt)})`);
  try {
    await work(signal);
    tell('ok  ');
    return { name };
  } catch (error) {
    signal.throwIfAborted();
    tell('FAIL');
    return { name, error };
  }
}

/** One at a time: the other core is for the tests. @param {AbortSignal} signal */
async function runChecks(signal) {
  const results = [];
  for (const [name, work] of Object.entries(checks)) results.push(await runCheck(name, work, signal));
  return results;
}

/** Packages and build on the one hand, servers on the other. @param {AbortSignal} signal @param {{ builds: boolean }} options */
function prepare(signal, { builds }) {
  return together(signal, [
    async (either) => {
      await ensureDependencies({ signal: either });
      const build = (/** @type {AbortSignal} */ inner) => ensureBuilds({ signal: inner });
      return builds ? [await runCheck('build', build, either)] : [];
    },
    (either) => ensureServers(['rabbitmq-plain', 'rabbitmq-plugin', 'postgres'], { signal: either }),
  ]);
}

await main(async ({ args, signal }) => {
  const isWhole = args.length === 0;
  const isAll = isWhole || args[0] === '--ci';
  const [built, servers] = await prepare(signal, { builds: isAll });
  const env = environmentFor(servers);
  if (!isAll) return runJest(args, { env, signal });
  const [checked, code] = await together(signal, [
    (either) => (isWhole ? runChecks(either) : Promise.resolve([])),
    (either) => runAllTests({ args, env, signal: either }),
  ]);
  const failed = [...built, ...checked].filter(({ error }) => error !== undefined);
  for (const { error } of failed) say(`\n${describeError(error)}`);
  if (failed.length > 0) say(`failed: ${failed.map(({ name }) => name).join(', ')} (see above)`);
  return code || (failed.length > 0 ? 1 : 0);
});

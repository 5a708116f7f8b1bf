// npm test: everything that must hold, from a bare clone. With arguments: jest alone, with these arguments.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runAllTests, runJest } from './jest/run-jest.mjs';
import { ensureBuilds } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { npm } from './setup/npm.mjs';
import { repository } from './setup/paths.mjs';
import { say, seconds, showProgress } from './setup/progress.mjs';
import { run } from './setup/run.mjs';
import { describeError } from './setup/setup-error.mjs';
import { together } from './setup/together.mjs';
import { environmentFor, ensureServers } from './stack/servers.mjs';

const checkLimitMs = 10 * 60_000;

/** @param {string} what @param {[string, string[]]} command @returns {(signal: AbortSignal) => Promise<unknown>} */
const check =
  (what, [command, args]) =>
  (signal) =>
    showProgress(what, () => run(command, args, { cwd: repository, limitMs: checkLimitMs, signal, what }));

const npmScript = (/** @type {string} */ name) => check(`npm run ${name}`, npm(['run', '--silent', name]));
const node = (/** @type {string[]} */ ...args) => check(`node ${args.slice(0, 2).join(' ')}`, [process.execPath, args]);

// By name: what a folder after --test means differs between versions of Node.
const ownTests = readdirSync(join(repository, 'scripts', 'tests')).map((name) => join('scripts', 'tests', name));

const checks = {
  build: (/** @type {AbortSignal} */ signal) => ensureBuilds({ signal }),
  lint: npmScript('lint'),
  format: npmScript('format:check'),
  types: npmScript('typecheck'),
  'public API': npmScript('api'),
  'set-up tests': node('--test', ...ownTests),
};

/** @typedef {{ name: string, ms: number, error?: unknown }} CheckResult */

/**
 * @param {string} name
 * @param {(signal: AbortSignal) => Promise<unknown>} check
 * @param {AbortSignal} signal
 * @returns {Promise<CheckResult>} a failed check is a result: the others are still worth knowing
 */
async function runCheck(name, check, signal) {
  const startedAt = performance.now();
  const ms = () => performance.now() - startedAt;
  try {
    await check(signal);
    return { name, ms: ms() };
  } catch (error) {
    signal.throwIfAborted();
    return { name, ms: ms(), error };
  }
}

/** Two at a time: each of them fills a core. The others need the build. @param {AbortSignal} signal */
async function runChecks(signal) {
  const [first, ...others] = Object.entries(checks);
  const results = first ? [await runCheck(...first, signal)] : [];
  const runNext = async () => {
    for (let next = others.shift(); next; next = others.shift()) results.push(await runCheck(...next, signal));
  };
  await Promise.all([runNext(), runNext()]);
  return results;
}

/** @param {CheckResult[]} results */
function printChecks(results) {
  for (const { error } of results) if (error) say(`\n${describeError(error)}`);
  say('');
  for (const { name, ms, error } of results)
    say(`${error ? 'FAIL' : 'ok  '}  ${name.padEnd(12)} ${seconds(ms).padStart(8)}`);
  say('');
}

await main(async ({ args, signal }) => {
  const [results, servers] = await together(signal, [
    async (either) => {
      await ensureDependencies({ signal: either });
      return args.length === 0 ? runChecks(either) : [];
    },
    (either) => ensureServers(['rabbitmq-plain', 'rabbitmq-plugin', 'postgres'], { signal: either }),
  ]);
  if (args.length === 0) printChecks(results);
  // Last, so that its line of counts closes the output.
  const options = { env: environmentFor(servers), signal };
  const code = await (args.length === 0 ? runAllTests(options) : runJest(args, options));
  const failed = results.filter(({ error }) => error).map(({ name }) => name);
  if (failed.length > 0) say(`failed: ${failed.join(', ')} (see above)`);
  return code || (failed.length > 0 ? 1 : 0);
});

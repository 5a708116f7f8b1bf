import { join } from 'node:path';
import { runInForeground } from '../setup/foreground.mjs';
import { repository } from '../setup/paths.mjs';

const test = join(repository, 'scripts', 'test.mjs');

/**
 * Runs the tests of a folder below `test` that has a configuration of its own, on the servers of npm test.
 *
 * @param {string} name of the folder
 * @param {string[]} args of jest
 * @param {{ env?: Record<string, string>, signal: AbortSignal }} options  `env`: beside our own
 * @returns {Promise<number>} its exit code
 */
export function runSuite(name, args, { env, signal }) {
  return runInForeground(process.execPath, [test, '--config', `test/${name}/jest.config.js`, ...args], {
    cwd: repository,
    env: { ...process.env, ...env },
    signal,
  });
}

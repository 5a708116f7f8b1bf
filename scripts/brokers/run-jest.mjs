import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { parseJson } from '../setup/files.mjs';
import { repository, stackFolder } from '../setup/paths.mjs';
import { run } from '../setup/run.mjs';

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

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseJson } from './files.mjs';
import { runInForeground } from './processes.mjs';
import { repository, stackFolder } from './paths.mjs';
import { say } from './progress.mjs';

const limitMs = 60 * 60_000;
/** More files that fail have more than a busy machine in common. */
const mostAgain = 2;

/** @typedef {{ file: string, passed: number }} FailedFile  `passed`: how many of its tests did */
/** @typedef {{ passed: number, failed: number, skipped: number, files: FailedFile[] }} Summary */
/** @typedef {{ env: Record<string, string>, signal?: AbortSignal | undefined }} Options */

/** @param {string[]} args @param {Options} options @returns {Promise<number>} its exit code */
export function runJest(args, { env, signal }) {
  const jest = join(repository, 'node_modules', 'jest', 'bin', 'jest.js');
  return runInForeground(process.execPath, [jest, ...args], {
    cwd: repository,
    env: { ...process.env, ...env },
    owns: 'process',
    limitMs,
    signal,
  });
}

/**
 * Runs all tests. Most of them wait for real servers, and a machine that is busy with the others may keep one waiting for
 * too long. So one or two files that fail run again, alone. Those that pass then count as passed, and the closing lines
 * name them.
 *
 * @param {Options & { args?: string[], print?: (line: string) => void }} options  `args`: of jest
 * @returns {Promise<number>} the exit code
 */
export async function runAllTests({ args = [], print = console.log, ...options }) {
  const first = await summarized(args, options);
  if (first.code === 0 || !first.summary) return first.code;
  const files = namesOf(first.summary);
  if (files.length === 0 || files.length > mostAgain) return first.code;
  say(`\nAgain, alone, as they failed beside the others: ${files.join(', ')}`);
  const second = await summarized([...args, '--runInBand', '--runTestsByPath', ...files], options);
  if (second.summary) for (const line of closingLines(first.summary, second.summary)) print(line);
  return second.code;
}

/**
 * Exported for its tests.
 *
 * @param {Summary} first @param {Summary} second  of the files that failed, run again
 * @param {NodeJS.ProcessEnv} env
 */
export function closingLines(first, second, env = process.env) {
  const replaced = first.files.reduce((sum, { passed }) => sum + passed, 0);
  const passed = first.passed - replaced + second.passed;
  const skipped = first.skipped > 0 ? `, ${first.skipped} skipped` : '';
  const lines = ['', `${passed} passed, ${second.failed} failed${skipped}`];
  const flaky = namesOf(first).filter((name) => !namesOf(second).includes(name));
  if (flaky.length === 0) return lines;
  const counted = flaky.length === 1 ? '1 file' : `${flaky.length} files`;
  const line = `flaky: ${counted} failed beside the others and passed alone: ${flaky.join(', ')}`;
  lines.push(line);
  // GitHub shows it on the page of the run, where nobody has to open the log of a green run.
  if (env.GITHUB_ACTIONS || env.CI) lines.push(`::warning::${line}`);
  return lines;
}

const namesOf = (/** @type {Summary} */ { files }) => files.map(({ file }) => file);

/** @param {string[]} args @param {Options} options @returns {Promise<{ code: number, summary: Summary | undefined }>} */
async function summarized(args, { env, signal }) {
  const file = join(stackFolder('jest'), 'summary.json');
  rmSync(file, { force: true });
  const code = await runJest(args, { env: { ...env, OT_JEST_SUMMARY: file }, signal });
  return { code, summary: existsSync(file) ? readSummary(file) : undefined };
}

/** @param {string} path */
function readSummary(path) {
  const summary = /** @type {Summary} */ (parseJson(readFileSync(path, 'utf8')));
  return { ...summary, files: summary.files.map((one) => ({ ...one, file: relative(repository, one.file) })) };
}

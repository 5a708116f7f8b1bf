import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseJson } from '../setup/files.mjs';
import { runInForeground } from '../setup/foreground.mjs';
import { repository, stackFolder } from '../setup/paths.mjs';
import { say } from '../setup/progress.mjs';

const limitMs = 60 * 60_000;
/** More files that fail have more than a busy machine in common. */
const mostAgain = 2;

/** @typedef {{ passed: number, failed: number, skipped: number, files: string[] }} Summary */
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
 * too long. So one or two files that fail run again, alone, and are named even if they pass then.
 *
 * @param {Options & { args?: string[] }} options  `args`: of jest
 * @returns {Promise<number>} the exit code
 */
export async function runAllTests({ args = [], ...options }) {
  const first = await summarized(args, options);
  if (first.code === 0 || !first.summary) return first.code;
  const { passed, failed, skipped, files } = first.summary;
  if (files.length === 0 || files.length > mostAgain) return first.code;
  say(`\nAgain, alone, as they failed beside the others: ${files.join(', ')}`);
  const second = await summarized([...args, '--runInBand', '--runTestsByPath', ...files], options);
  if (second.code !== 0) return second.code;
  say(`\nFLAKY: failed beside the others, passed alone: ${files.join(', ')}`);
  say(`\n${passed + failed} passed, 0 failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return 0;
}

/** @param {string[]} args @param {Options} options @returns {Promise<{ code: number, summary: Summary | undefined }>} */
async function summarized(args, { env, signal }) {
  const file = join(stackFolder('jest'), 'summary.json');
  rmSync(file, { force: true });
  const code = await runJest(args, { env: { ...env, OT_JEST_SUMMARY: file }, signal });
  return { code, summary: existsSync(file) ? readSummary(file) : undefined };
}

/** @param {string} file */
function readSummary(file) {
  const summary = /** @type {Summary} */ (parseJson(readFileSync(file, 'utf8')));
  return { ...summary, files: summary.files.map((name) => relative(repository, name)) };
}

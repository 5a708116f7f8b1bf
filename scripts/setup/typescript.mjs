import { join } from 'node:path';
import { runInForeground } from './foreground.mjs';
import { repository } from './paths.mjs';

const compiler = join(repository, 'test', 'support', 'compile-on-require.js');

/**
 * Arguments of Node for a program that is compiled as it is loaded: nothing to build, and nothing that could be out of
 * date.
 *
 * @param {string} program  below the repository
 * @param {string[]} args
 */
export const typescript = (program, args) => [
  // NestJS is published as ES modules; that Node can require them is still called experimental by Node 20.
  '--disable-warning=ExperimentalWarning',
  '--enable-source-maps',
  ...['-r', compiler, join(repository, program), ...args],
];

/**
 * @param {string} program  below the repository
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, signal: AbortSignal }} options  `env`: beside our own
 * @returns {Promise<number>} its exit code
 */
export const runTypescript = (program, args, { env, signal }) =>
  runInForeground(process.execPath, typescript(program, args), {
    cwd: repository,
    env: { ...process.env, ...env },
    signal,
  });

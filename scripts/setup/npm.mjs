import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * The npm that runs us, else the one that came with this Node, else whatever the PATH has.
 *
 * @param {string[]} args
 * @returns {[string, string[]]} command and arguments
 */
export function npm(args) {
  const candidates = [
    process.env.npm_execpath,
    join(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js'),
    join(dirname(process.execPath), 'node_modules', 'npm', 'bin', 'npm-cli.js'),
  ];
  const script = candidates.find((path) => path && basename(path) === 'npm-cli.js' && existsSync(path));
  if (script) return [process.execPath, [script, ...args]];
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm', args];
}

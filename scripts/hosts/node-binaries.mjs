import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm } from '../setup/npm.mjs';
import { run } from '../setup/run.mjs';

const limitMs = 5 * 60_000;

/** The supported lines, each from the first release that can require ES modules. */
export const nodeLines = /** @type {Record<string, string>} */ ({ 20: '^20.19.0', 22: '^22.12.0', 24: '^24.0.0' });

/** @typedef {{ version: string, path: string }} NodeBinary */

/**
 * Node.js as npm has it: the newest release of each line.
 *
 * @param {string[]} lines
 * @param {{ parent: string, signal: AbortSignal }} options
 * @returns {Promise<NodeBinary[]>}
 */
export async function obtainNodes(lines, { parent, signal }) {
  const folder = join(parent, 'node');
  const name = `node-${process.platform}-${process.arch}`;
  mkdirSync(folder);
  const dependencies = Object.fromEntries(lines.map((line) => [`node-${line}`, `npm:${name}@${nodeLines[line]}`]));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  await run(...npm(['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']), {
    ...{ cwd: folder, limitMs, signal, what: 'npm install of Node.js' },
  });
  return Promise.all(
    lines.map(async (line) => {
      const path = join(folder, 'node_modules', `node-${line}`, 'bin', 'node');
      return { path, version: (await run(path, ['--version'], { limitMs, signal })).trim().slice(1) };
    }),
  );
}

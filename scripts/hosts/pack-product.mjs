import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseJson } from '../setup/files.mjs';
import { npm } from '../setup/npm.mjs';
import { repository } from '../setup/paths.mjs';
import { run } from '../setup/run.mjs';

const limitMs = 5 * 60_000;

/** @typedef {{ filename: string, size: number, unpackedSize: number, files: { path: string }[] }} Packed */

/**
 * Packs the product and publishes it in a dry run, both from a fresh copy of what git knows: nothing that lies around
 * in this folder can get in, and nothing here is built again.
 *
 * @param {string} parent
 * @param {AbortSignal} signal
 * @returns {Promise<Packed & { path: string }>}
 */
export async function packProduct(parent, signal) {
  const clone = join(parent, 'clone');
  await copyTracked(clone, signal);
  const call = (/** @type {string[]} */ args) => run(...npm(args), { cwd: clone, limitMs, signal });
  const printed = await call(['pack', '--json', '--pack-destination', parent]);
  // What the build says stands before the JSON.
  const [packed] = /** @type {Packed[]} */ (parseJson(printed.slice(printed.indexOf('[\n'))));
  if (!packed) throw new Error(`npm pack printed no package: ${printed}`);
  await call(['publish', '--dry-run', '--ignore-scripts']);
  await call(['publish', '--dry-run', '--workspace', 'packages/payment-simulator']);
  return { ...packed, path: join(parent, packed.filename) };
}

/** @param {string} target @param {AbortSignal} signal */
async function copyTracked(target, signal) {
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    ...{ cwd: repository, limitMs, signal },
  });
  for (const file of listed.split('\0').filter((name) => name !== '' && name !== 'node_modules')) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(repository, file), join(target, file));
  }
  symlinkSync(join(repository, 'node_modules'), join(target, 'node_modules'));
}

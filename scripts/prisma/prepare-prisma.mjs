import { join } from 'node:path';
import { isInstalled } from '../setup/dependencies.mjs';
import { readJson } from '../setup/files.mjs';
import { npm } from '../setup/npm.mjs';
import { repository } from '../setup/paths.mjs';
import { showProgress } from '../setup/progress.mjs';
import { run } from '../setup/run.mjs';

const limitMs = 10 * 60_000;
const folder = join(repository, 'test', 'prisma');

/** @param {string[]} path */
const readLock = (...path) =>
  /** @type {import('../setup/dependencies.mjs').LockFile | undefined} */ (readJson(join(folder, ...path)));

/**
 * Installs Prisma in test/prisma, generates its client, and compiles the specs.
 *
 * @param {AbortSignal} signal
 */
export async function preparePrisma(signal) {
  if (!isInstalled(readLock('package-lock.json'), readLock('node_modules', '.package-lock.json'))) {
    // Without their scripts: Prisma's would download engines, that are not used.
    const [command, args] = npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
    await step('Prisma (npm ci)', command, args, signal);
  }
  await step('prisma generate', process.execPath, ['node_modules/prisma/build/index.js', 'generate'], signal);
  await step('types', process.execPath, [join(repository, 'node_modules/typescript/bin/tsc'), '-p', '.'], signal);
}

/** @param {string} what @param {string} command @param {string[]} args @param {AbortSignal} signal */
function step(what, command, args, signal) {
  // The engine is for migrations. Named, it is not downloaded, and generating never starts it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  return showProgress(what, () => run(command, args, { cwd: folder, env, limitMs, signal, what }));
}

import { join } from 'node:path';
import { ensurePackagesOf } from '../setup/dependencies.mjs';
import { repository } from '../setup/paths.mjs';
import { showProgress } from '../setup/progress.mjs';
import { run } from '../setup/run.mjs';

const limitMs = 10 * 60_000;
const folder = join(repository, 'test', 'hosts', 'prisma');

/**
 * Installs Prisma in test/hosts/prisma, generates its client, and compiles the specs.
 *
 * @param {AbortSignal} signal
 */
export async function preparePrisma(signal) {
  // Without their scripts: Prisma's would download engines, that are not used.
  await ensurePackagesOf('test/hosts/prisma', 'Prisma', signal);
  await step('prisma generate', process.execPath, ['node_modules/prisma/build/index.js', 'generate'], signal);
  await step('types', process.execPath, [join(repository, 'node_modules/typescript/bin/tsc'), '-p', '.'], signal);
}

/** @param {string} what @param {string} command @param {string[]} args @param {AbortSignal} signal */
function step(what, command, args, signal) {
  // The engine is for migrations. Named, it is not downloaded, and generating never starts it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  return showProgress(what, () => run(command, args, { cwd: folder, env, limitMs, signal, what }));
}

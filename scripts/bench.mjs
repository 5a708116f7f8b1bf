// npm run bench: the product, what people use instead, and the floors, side by side, from a bare clone.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilds } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { showProgress } from './setup/progress.mjs';
import { runTypescript } from './setup/typescript.mjs';

const peers = join(repository, 'scripts', 'bench', 'obtain-peers.mjs');

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  // The service under load is the build.
  await ensureBuilds({ signal });
  const env = args.includes('--help') || !existsSync(peers) ? {} : await obtain(signal);
  return runTypescript('test/bench/main.ts', args, { env, signal });
});

/** @param {AbortSignal} signal @returns {Promise<Record<string, string>>} environment of the program */
async function obtain(signal) {
  /** @type {unknown} */
  const module = await import(peers);
  const { obtainPeers } = /** @type {typeof import('./bench/obtain-peers.mjs')} */ (module);
  return showProgress('preparing what is compared', (note) => obtainPeers({ signal, note }));
}

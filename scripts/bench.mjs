// npm run bench: the product, what people use instead, and the floors, side by side, from a bare clone.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuild, serviceBuild, simulatorBuild } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { showProgress } from './setup/progress.mjs';

// The program is test code, compiled as it is loaded; the service under load is the build.
const compiler = join(repository, 'test', 'integration', 'payments', 'compile-on-require.js');
const peers = join(repository, 'scripts', 'bench', 'obtain-peers.mjs');

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await ensureBuild(serviceBuild, { signal });
  await ensureBuild(simulatorBuild, { signal });
  const found = args.includes('--help') || !existsSync(peers) ? {} : await obtain(signal);
  return runInForeground(process.execPath, ['-r', compiler, join('test', 'bench', 'main.ts'), ...args], {
    cwd: repository,
    env: { ...process.env, ...found },
    signal,
  });
});

/** @param {AbortSignal} signal @returns {Promise<Record<string, string>>} environment of the program */
async function obtain(signal) {
  /** @type {unknown} */
  const module = await import(peers);
  const { obtainPeers } = /** @type {typeof import('./bench/obtain-peers.mjs')} */ (module);
  return showProgress('preparing what is compared', (note) => obtainPeers({ signal, note }));
}

// npm run test:moving: runs the imports of docs/moving against the real tools.
import { join } from 'node:path';
import { obtainPeers } from './bench/obtain-peers.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { showProgress } from './setup/progress.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  const peers = await showProgress('Redis, BullMQ, and pg-boss', (note) => obtainPeers({ signal, note }));
  const test = join(repository, 'scripts', 'test.mjs');
  return runInForeground(process.execPath, [test, '--config', 'test/moving/jest.config.js', ...args], {
    cwd: repository,
    env: { ...process.env, ...peers },
    signal,
  });
});

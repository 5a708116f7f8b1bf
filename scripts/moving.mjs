// npm run test:moving: runs the imports of docs/moving against the real tools.
import { obtainPeers } from './bench/obtain-peers.mjs';
import { runSuite } from './jest/run-suite.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  const peers = await showProgress('Redis, BullMQ, and pg-boss', (note) => obtainPeers({ signal, note }));
  return runSuite('moving', args, { env: peers, signal });
});

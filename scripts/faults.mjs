// npm run test:faults: a stream of orders through several instances while everything around them breaks, from a bare clone.
import { ensureBuilds } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { runTypescript } from './setup/typescript.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  // What the program starts is a patched copy of the build.
  await ensureBuilds({ signal });
  return runTypescript('test/campaign/main.ts', args, { signal });
});

// npm run test:model: random interleavings over the real decisions of src/orders, from a bare clone.
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { runTypescript } from './setup/typescript.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  return runTypescript('test/model/main.ts', args, { signal });
});

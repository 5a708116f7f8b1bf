// npm run diagrams: writes docs/state-diagrams.md from the tables of transitions in src. A unit test compares the two.
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { runTypescript } from './setup/typescript.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  return runTypescript('test/contract/write-diagrams.ts', args, { signal });
});

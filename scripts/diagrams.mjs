// npm run diagrams: writes the status diagrams of docs/architecture.md from the tables of transitions in src. A unit test
// compares the two.
import { ensureDependencies, runTypescript } from './setup/build.mjs';
import { main } from './setup/main.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  return runTypescript('test/contract/write-diagrams.ts', args, { signal });
});

// npm run diagrams: writes the status diagrams of docs/architecture.md from the tables of transitions in src. A unit test
// compares the two.
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { runTypescript } from './setup/typescript.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  return runTypescript('test/diagrams/main.ts', args, { signal });
});

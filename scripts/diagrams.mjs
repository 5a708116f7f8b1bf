// npm run diagrams: writes the status diagrams of docs/architecture.md from the tables of transitions in src, and
// docs/module-options.md from the comments of the options. Unit tests compare them.
import { ensureDependencies, runTypescript } from './setup/build.mjs';
import { main } from './setup/main.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  return runTypescript('test/contract/write-diagrams.ts', args, { signal });
});

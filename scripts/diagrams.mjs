// npm run diagrams: writes docs/state-diagrams.md from the tables of transitions in src. A unit test compares the two.
import { join } from 'node:path';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';

// Compiled as it is read: nothing to build, and nothing that could be out of date.
const compiler = join(repository, 'test', 'integration', 'payments', 'compile-on-require.js');

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  // NestJS is published as ES modules; that Node can require them is still called experimental by Node 20.
  const flags = ['--disable-warning=ExperimentalWarning', '-r', compiler];
  return runInForeground(process.execPath, [...flags, join('test', 'diagrams', 'main.ts'), ...args], {
    cwd: repository,
    signal,
  });
});

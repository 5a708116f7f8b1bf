// npm run test:mutation: changes the decisions one place at a time, and names each change that no unit test notices. Arguments
// are Stryker's.
import { ensureDependencies, ensurePackagesOf } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository, stackFolder } from './setup/paths.mjs';

const stryker = 'test/mutation/node_modules/@stryker-mutator/core/bin/stryker.js';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await ensurePackagesOf('test/mutation', 'Stryker', signal);
  stackFolder();
  const program = [stryker, 'run', 'test/mutation/stryker.config.mjs', ...args];
  return runInForeground(process.execPath, program, { cwd: repository, owns: 'process', signal });
});

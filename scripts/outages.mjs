// npm run test:outages: outages and kills, one after the other, as some tests measure how late an order is.
import { join } from 'node:path';
import { ensureBuilds } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await ensureBuilds({ signal });
  const test = join(repository, 'scripts', 'test.mjs');
  return runInForeground(process.execPath, [test, '--config', 'test/outage/jest.config.js', ...args], {
    cwd: repository,
    signal,
  });
});

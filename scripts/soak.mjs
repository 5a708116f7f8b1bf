// npm run test:soak -- [--minutes 5] [--rate 40]: one service under steady load, its memory after forced collections.
import { join } from 'node:path';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { environmentFor, ensureServers } from './stack/servers.mjs';

// Compiled as it is read: nothing to build, and nothing that could be out of date.
const compiler = join(repository, 'test', 'integration', 'payments', 'compile-on-require.js');

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  const servers = await ensureServers(['rabbitmq-plain', 'postgres'], { signal });
  const flags = ['--disable-warning=ExperimentalWarning', '--enable-source-maps', '-r', compiler];
  return runInForeground(process.execPath, [...flags, join('test', 'soak', 'main.ts'), ...args], {
    cwd: repository,
    env: { ...process.env, ...environmentFor(servers) },
    signal,
  });
});

// npm run test:soak -- [--minutes 5] [--rate 40]: one service under steady load, its memory after forced collections.
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { runTypescript } from './setup/typescript.mjs';
import { environmentFor, ensureServers } from './stack/servers.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  const servers = await ensureServers(['rabbitmq-plain', 'postgres'], { signal });
  return runTypescript('test/soak/main.ts', args, { env: environmentFor(servers), signal });
});

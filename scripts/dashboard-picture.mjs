// npm run picture:dashboard: the picture of docs/monitoring.md, from a recording as in npm run test:observability.
import { ensureChromium } from './operator/chromium.mjs';
import { ensureBuilds } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';
import { runTypescript } from './setup/typescript.mjs';
import { environmentFor, ensureServers } from './stack/servers.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await ensureBuilds({ signal });
  const chromium = await showProgress('Chromium', (note) => ensureChromium({ signal, note }));
  const servers = await ensureServers(['rabbitmq-plain', 'postgres'], { signal });
  const env = { ...environmentFor(servers), CHROMIUM: chromium };
  return runTypescript('test/observability/picture/main.ts', args, { env, signal });
});

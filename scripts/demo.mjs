// npm run demo: the main job end to end on a real broker and database, from a bare clone.
import { ensureBuild, examplesBuild, serviceBuild, simulatorBuild } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { together } from './setup/together.mjs';
import { brokerForDemo } from './stack/profile.mjs';
import { environmentFor, ensureServers } from './stack/servers.mjs';

await main(async ({ args, signal }) => {
  const broker = brokerForDemo(args, { isGiven: Boolean(process.env.RABBITMQ_URLS) });
  const [, servers] = await together(signal, [
    async (either) => {
      await ensureDependencies({ signal: either });
      await ensureBuild(serviceBuild, { signal: either });
      await ensureBuild(simulatorBuild, { signal: either });
      await ensureBuild(examplesBuild, { signal: either });
    },
    (either) => ensureServers([broker, 'postgres'], { signal: either }),
  ]);
  return runInForeground(process.execPath, ['--enable-source-maps', 'dist-examples/demo/main.js', ...args], {
    cwd: repository,
    env: { ...process.env, ...environmentFor(servers) },
    signal,
  });
});

// npm run test:scenarios: every payment scenario for real: service, payment simulator, RabbitMQ and PostgreSQL.
import { ensureBuild, serviceBuild, simulatorBuild } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { together } from './setup/together.mjs';
import { environmentFor, ensureServers } from './stack/servers.mjs';

// The program is test code, compiled as it is loaded; what it starts is the build.
const program = ['-r', './test/integration/payments/compile-on-require.js', 'test/scenarios/main.ts'];

await main(async ({ args, signal }) => {
  const [, servers] = await together(signal, [
    async (either) => {
      await ensureDependencies({ signal: either });
      await ensureBuild(serviceBuild, { signal: either });
      await ensureBuild(simulatorBuild, { signal: either });
    },
    (either) => ensureServers(['rabbitmq-plain', 'postgres'], { signal: either }),
  ]);
  return runInForeground(process.execPath, [...program, ...args], {
    cwd: repository,
    env: { ...process.env, SCENARIOS_DIST: 'dist', ...environmentFor(servers) },
    signal,
  });
});

// npm run test:faults: a stream of orders through several instances while everything around them breaks, from a bare clone.
import { join } from 'node:path';
import { ensureBuild, serviceBuild, simulatorBuild } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { showProgress } from './setup/progress.mjs';
import { obtainRabbitmq } from './stack/obtain-rabbitmq.mjs';
import { serverHome } from './stack/server-user.mjs';

// The program is test code, compiled as it is loaded; what it starts is a patched copy of the build.
const compiler = join(repository, 'test', 'integration', 'payments', 'compile-on-require.js');

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await ensureBuild(serviceBuild, { signal });
  await ensureBuild(simulatorBuild, { signal });
  const { home, user } = serverHome();
  // Its Erlang sets off the disk alarm. Broker and database are throw-away ones, as they are killed.
  const { erlangBin } = await showProgress('looking for RabbitMQ', (note) =>
    obtainRabbitmq({ home, shared: Boolean(user), signal, note }),
  );
  return runInForeground(process.execPath, ['-r', compiler, join('test', 'campaign', 'main.ts'), ...args], {
    cwd: repository,
    env: { ...process.env, OT_ERLANG_BIN: erlangBin },
    signal,
  });
});

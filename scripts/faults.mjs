// npm run test:faults: a stream of orders through several instances while everything around them breaks, from a bare clone.
import { ensureBuilds } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';
import { runTypescript } from './setup/typescript.mjs';
import { obtainRabbitmq } from './stack/obtain-rabbitmq.mjs';
import { serverHome } from './stack/server-user.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  // What the program starts is a patched copy of the build.
  await ensureBuilds({ signal });
  const { home, user } = serverHome();
  // Its Erlang sets off the disk alarm. Broker and database are throw-away ones, as they are killed.
  const { erlangBin } = await showProgress('looking for RabbitMQ', (note) =>
    obtainRabbitmq({ home, shared: Boolean(user), signal, note }),
  );
  return runTypescript('test/campaign/main.ts', args, { env: { OT_ERLANG_BIN: erlangBin }, signal });
});

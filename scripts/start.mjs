// npm start: the service on a real broker and database, or on the database alone, from a bare clone.
import { pageBuild, serviceBuild } from './setup/build.mjs';
import { runInForeground } from './setup/processes.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { say } from './setup/progress.mjs';
import { brokerForService, hasDockerEngine, prepareRun } from './stack/servers.mjs';
import { localApiKey } from './stack/place.mjs';

const defaultPort = '3000';

/**
 * An API that moves money is never open: without keys of the operator's own it gets one, for this machine only.
 *
 * @returns {Record<string, string>}
 */
function serviceEnvironment() {
  const port = process.env.PORT || defaultPort;
  if (process.env.API_KEYS) return { PORT: port };
  const { entry, path } = localApiKey();
  const headers = `-H "Authorization: Bearer $(cat '${path}')" -H 'content-type: application/json'`;
  say(`API_KEYS is not set: the service takes the key in ${path}, and requests of this machine only. Try:`);
  say(`  curl -X PUT ${headers} -d '{"onHand":10}' http://127.0.0.1:${port}/inventory/apple`);
  return { PORT: port, HOST: process.env.HOST || '127.0.0.1', API_KEYS: entry };
}

/** As in the image. */
const HEAP = { NODE_OPTIONS: '--max-old-space-size=512' };

await main(async ({ args, signal }) => {
  const broker = brokerForService({ isGiven: Boolean(process.env.RABBITMQ_URLS), hasDocker: hasDockerEngine() });
  const options = { signal, builds: [serviceBuild, pageBuild], brokerMayBeDown: true, brokerMayBeAbsent: true };
  const servers = await prepareRun([broker, 'postgres'], options);
  return runInForeground(process.execPath, ['--enable-source-maps', 'dist/main.js', ...args], {
    cwd: repository,
    env: { ...HEAP, ...process.env, ...serviceEnvironment(), ...servers },
    signal,
  });
});

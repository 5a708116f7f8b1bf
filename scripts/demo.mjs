// npm run demo: the main job end to end on a real broker and database, or on the database alone, from a bare clone.
import { main } from './setup/main.mjs';
import { runTypescript } from './setup/build.mjs';
import { brokerForDemo, prepareRun } from './stack/servers.mjs';

await main(async ({ args, signal }) => {
  const broker = brokerForDemo(args, { isGiven: Boolean(process.env.RABBITMQ_URLS) });
  const env = await prepareRun([broker, 'postgres'], { signal, brokerMayBeAbsent: true });
  return runTypescript('examples/demo/main.ts', args, { env, signal });
});

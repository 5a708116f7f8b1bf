// npm run test:scenarios: every payment scenario for real: service, payment simulator, RabbitMQ and PostgreSQL.
import { main } from './setup/main.mjs';
import { runTypescript } from './setup/typescript.mjs';
import { prepareRun } from './stack/prepare-run.mjs';

await main(async ({ args, signal }) => {
  const env = await prepareRun(['rabbitmq-plain', 'postgres'], { signal });
  // What the program starts is the build.
  return runTypescript('test/scenarios/main.ts', args, { env: { ...env, SCENARIOS_BUILT: 'yes' }, signal });
});

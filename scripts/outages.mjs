// npm run test:outages: outages and kills, one after the other, as some tests measure how late an order is.
import { runSuite } from './jest/run-suite.mjs';
import { ensureBuilds } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await ensureBuilds({ signal });
  return runSuite('outage', args, { signal });
});

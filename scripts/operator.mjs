// npm run test:operator [-- jest's arguments]: the operator page in Chromium, on recorded data and on a running service.
import { runSuite } from './jest/run-suite.mjs';
import { ensureChromium } from './operator/chromium.mjs';
import { ensureBuilds, pageBuild } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await ensureBuilds({ signal, builds: [pageBuild] });
  const chromium = await showProgress('Chromium', (note) => ensureChromium({ signal, note }));
  return runSuite('operator', args, { env: { CHROMIUM: chromium }, signal });
});

// npm run test:operator [-- jest's arguments]: the operator page in Chromium, on recorded data and on a running service.
import { join } from 'node:path';
import { ensureChromium } from './operator/chromium.mjs';
import { ensureBuilds, pageBuild } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { showProgress } from './setup/progress.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  await ensureBuilds({ signal, builds: [pageBuild] });
  const chromium = await showProgress('Chromium', (note) => ensureChromium({ signal, note }));
  const test = join(repository, 'scripts', 'test.mjs');
  return runInForeground(process.execPath, [test, '--config', 'test/operator/jest.config.js', ...args], {
    cwd: repository,
    env: { ...process.env, CHROMIUM: chromium },
    signal,
  });
});

// npm run test:observability: the alert rules by promtool, and the panels of the dashboards by a Prometheus that scrapes a
// service to which things happen.
import { join } from 'node:path';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runInForeground } from './setup/foreground.mjs';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { showProgress } from './setup/progress.mjs';
import { obtainPrometheus } from './stack/prometheus-installation.mjs';
import { serverHome } from './stack/server-user.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  const { home, user } = serverHome();
  const { promtool } = await showProgress('Prometheus', (note) =>
    obtainPrometheus({ home, shared: Boolean(user), signal, note }),
  );
  const test = join(repository, 'scripts', 'test.mjs');
  return runInForeground(process.execPath, [test, '--config', 'test/observability/jest.config.js', ...args], {
    cwd: repository,
    env: { ...process.env, OT_PROMTOOL: promtool },
    signal,
  });
});

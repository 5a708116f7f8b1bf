// npm run test:observability: the alert rules by promtool, and the panels of the dashboards by a Prometheus that scrapes a
// service to which things happen.
import { runSuite } from './jest/run-suite.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { main } from './setup/main.mjs';
import { showProgress } from './setup/progress.mjs';
import { obtainPrometheus } from './stack/prometheus-installation.mjs';
import { serverHome } from './stack/server-user.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  const { home, user } = serverHome();
  const { promtool } = await showProgress('Prometheus', (note) =>
    obtainPrometheus({ home, shared: Boolean(user), signal, note }),
  );
  return runSuite('observability', args, { env: { OT_PROMTOOL: promtool }, signal });
});

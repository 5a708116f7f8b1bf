// PROMETHEUS_CONFIG=text node scripts/prometheus.mjs [--directory D]
// A throw-away Prometheus with this configuration and the alert rules of observability/, in the foreground; see
// stack/throw-away.mjs for its protocol.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { main } from './setup/main.mjs';
import { repository } from './setup/paths.mjs';
import { showProgress } from './setup/progress.mjs';
import { obtainPrometheus } from './stack/prometheus-installation.mjs';
import { prometheusServer } from './stack/prometheus-server.mjs';
import { readOptions, throwAwayPlace } from './stack/throw-away-place.mjs';
import { serveThrowAway } from './stack/throw-away.mjs';

await main(async ({ args, signal }) => {
  const place = await throwAwayPlace(readOptions(args, ['directory']).directory);
  const { home, user } = place;
  const installation = await showProgress('preparing a throw-away Prometheus', (note) =>
    obtainPrometheus({ home, shared: Boolean(user), signal, note }),
  );
  const rules = readFileSync(join(repository, 'observability', 'alerts.yml'), 'utf8');
  const files = { 'prometheus.yml': process.env.PROMETHEUS_CONFIG ?? '', 'alerts.yml': rules };
  const spec = prometheusServer({ ...place, files, installation });
  await serveThrowAway(spec, { signal, access: spec.access });
});

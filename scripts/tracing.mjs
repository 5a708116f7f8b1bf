// npm run tracing [-- --seconds 10]: a shop with the OpenTelemetry SDK, in which an order is placed and closed. Its spans
// go to OTEL_EXPORTER_OTLP_ENDPOINT, by default to the Jaeger of docker-compose.yml.
import { ensureDependencies, runTypescript } from './setup/build.mjs';
import { main } from './setup/main.mjs';
import { environmentFor, ensureServers } from './stack/servers.mjs';

await main(async ({ args, signal }) => {
  await ensureDependencies({ signal });
  const servers = await ensureServers(['rabbitmq-plain', 'postgres'], { signal });
  return runTypescript('examples/tracing/main.ts', args, { env: environmentFor(servers), signal });
});

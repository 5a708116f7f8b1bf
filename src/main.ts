#!/usr/bin/env node
import { type NestExpressApplication } from '@nestjs/platform-express';
import { createService, loadConfig, startService } from './service';
import { messageOf } from './errors';

/** Runs the service until SIGTERM or SIGINT. */
async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const app = await createService(config);
  app.enableShutdownHooks();
  await startService(app, config.http).catch((error: unknown) => closeAfter(app, error));
}

async function closeAfter(app: NestExpressApplication, error: unknown): Promise<never> {
  await app.close().catch(() => undefined);
  throw error;
}

main().catch((error: unknown) => {
  process.stderr.write(`nestjs-order-timeout cannot start: ${messageOf(error)}\n`);
  process.exit(1);
});

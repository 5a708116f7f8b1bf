import { type INestApplication, VersioningType } from '@nestjs/common';
import { RabbitServer } from 'nestjs-order-timeout/rabbit';
import { tryOut } from './try-out.js';

/**
 * Starts the host, uses everything that the module gives it, and stops it. Prints what it found as the last line. The
 * process then has to end by itself.
 */
export async function runShop(create: () => Promise<INestApplication>): Promise<void> {
  const app = await create();
  app.setGlobalPrefix('api');
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: '7' });
  app.enableShutdownHooks();
  app.connectMicroservice({ strategy: app.get(RabbitServer) });
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  try {
    const found = await tryOut(app, `${await app.getUrl()}/api`);
    process.stdout.write(`${JSON.stringify(found)}\n`);
  } finally {
    await app.close();
  }
}

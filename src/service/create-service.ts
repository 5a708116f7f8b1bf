import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Server } from 'node:http';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module';
import { type ServiceConfig } from './config';
import { PinoLogger } from '../operations';
import { limitBodies } from './limit-bodies';
import { RabbitServer } from '../rabbit';

/**
 * Load balancers keep idle connections for 60 s, and should be the ones to close them. With Node's default of 5 s, some
 * of their requests meet a connection that is just being closed, and fail.
 */
const KEEP_ALIVE_MS = 75_000;

/**
 * Builds the service. Call `startService` next. Rejects if the database cannot be reached within half a minute. The
 * broker may be down.
 */
export async function createService(config: ServiceConfig): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.forRoot(config), {
    abortOnError: false,
    // `limitBodies` sets other limits than Nest's 100 KiB.
    bodyParser: false,
    logger: new PinoLogger(config.logLevel),
  });
  app.disable('x-powered-by');
  if (config.http.trustProxy !== undefined) app.set('trust proxy', config.http.trustProxy);
  limitBodies(app);
  const server: Server = app.getHttpServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  app.connectMicroservice({ strategy: app.get(RabbitServer) });
  return app;
}

/**
 * Consumes commands and listens for requests. Commands come first: the engine's connection must know their consumer.
 */
export async function startService(app: NestExpressApplication, { port, host }: ServiceConfig['http']): Promise<void> {
  await app.startAllMicroservices();
  await app.listen(port, host);
  new Logger('Service').log(`listening on ${await app.getUrl()}`);
}

import {
  Logger,
  type BeforeApplicationShutdown,
  type DynamicModule,
  Module,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { NestFactory, APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import { type Server } from 'node:http';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { PinoLogger, OperationsModule } from '../operations';
import { RabbitServer } from '../rabbit';
import { SystemClock } from '../clock';
import { OrderTimeoutModule, type OrderTimeoutOptions } from '../module';
import { isBulkOfJson, isNotification, isOtherJson, ProblemFilter } from '../api/http';
import { OWNS_DATABASE } from '../timeouts';
import { retryWhileUnavailable, connectionOptions, PLAN_BY_INDEX, type PreparingClient } from '../database';
import { type ServiceConfig } from './config';
import { type LoadedFiles, loadFiles } from './load-payment-providers';

/**
 * Load balancers keep idle connections for 60 s, and should be the ones to close them. With Node's default of 5 s, some
 * of their requests meet a connection that is just being closed, and fail.
 */
const KEEP_ALIVE_MS = 75_000;

/** Call `startService` next. Rejects without a database for half a minute. The broker may be down. */
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

/** Commands come first: the engine's connection must know their consumer. */
export async function startService(app: NestExpressApplication, { port, host }: ServiceConfig['http']): Promise<void> {
  await app.startAllMicroservices();
  await app.listen(port, host);
  new Logger('Service').log(`listening on ${await app.getUrl()}`);
}

/** The stand-alone service: OrderTimeoutModule with a database connection, HTTP, and operations. */
@Module({})
class AppModule implements BeforeApplicationShutdown {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  /** Reads the files of the configuration at once, so that a mistake there is told without any server. */
  static forRoot(config: ServiceConfig): DynamicModule {
    const files = loadFiles(config);
    return {
      module: AppModule,
      imports: [
        DatabaseModule.forRoot(() => connect(config.database)),
        OrderTimeoutModule.forRootAsync({
          http: true,
          contract: true,
          operator: true,
          inject: [DataSource],
          useFactory: (dataSource: DataSource) => toOptions(dataSource, config, files),
        }),
        OperationsModule,
      ],
      // For requests that reach no controller, such as unknown routes and bad JSON. Controllers use the filter
      // themselves.
      providers: [{ provide: APP_FILTER, useClass: ProblemFilter }],
    };
  }

  /** Node.js then closes idle connections only: one in use would live on, and be served, for as long as its client asks. */
  beforeApplicationShutdown(): void {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    server.prependListener('request', (_, response) => response.setHeader('Connection', 'close'));
    server.keepAliveTimeout = 1;
  }
}

export function toOptions(dataSource: DataSource, config: ServiceConfig, files: LoadedFiles): OrderTimeoutOptions {
  const { http, rateLimits, database, rabbit, transport, ladder, horizonMs, sweep, orders } = config;
  return {
    dataSource,
    schema: database.schema,
    rabbit,
    transport,
    ladder,
    horizonMs,
    sweep,
    orders,
    retention: config.retention,
    ...files,
    apiKeys: http.apiKeys,
    operatorKeys: http.operatorKeys,
    rateLimits,
    shutdownTimeoutMs: config.shutdownTimeoutMs,
    [OWNS_DATABASE]: true,
  };
}

/** The connections of the service. Retries an unavailable server at the start, but not a wrong password. */
@Module({})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(private readonly dataSource: DataSource) {}

  static forRoot(connect: () => DataSource | Promise<DataSource>): DynamicModule {
    const provider = { provide: DataSource, useFactory: connect };
    return { module: DatabaseModule, global: true, providers: [provider], exports: [DataSource] };
  }

  /** After everything that uses the connections has stopped. */
  async onApplicationShutdown(): Promise<void> {
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }
}

function connect(config: ServiceConfig['database']): Promise<DataSource> {
  return retryWhileUnavailable(new SystemClock(), () => new DataSource(dataSourceOptions(config)).initialize());
}

const LIMIT = '256kb';

/** Room for 1,000 orders with a few lines each. */
const BULK_LIMIT = '2mb';

/**
 * Parses JSON bodies, with a larger limit for bulk requests, and keeps the signed bytes of provider notifications. For
 * an application with `bodyParser: false`.
 */
function limitBodies(app: NestExpressApplication): void {
  app.useBodyParser('raw', { limit: LIMIT, type: isNotification });
  app.useBodyParser('json', { limit: BULK_LIMIT, type: isBulkOfJson });
  app.useBodyParser('json', { limit: LIMIT, type: isOtherJson });
}

const POOL_SIZE = 4;

/**
 * Connects to the database as the service does, for a command: at once or not at all, because a person waits. Without
 * prepared statements, because a command runs each statement once. Call `destroy` in the end.
 */
export function openDatabase(database: ServiceConfig['database']): Promise<DataSource> {
  return new DataSource(dataSourceOptions({ ...database, poolSize: POOL_SIZE, prepares: false })).initialize();
}

const PLANNING = { onConnect: (client: PreparingClient) => client.query(PLAN_BY_INDEX) };

export function dataSourceOptions({ url, poolSize, prepares }: ServiceConfig['database']): DataSourceOptions {
  const options = connectionOptions({ url, poolSize, preparedStatements: prepares });
  return { ...options, extra: { ...(options.extra as object), ...(prepares ? PLANNING : {}) } };
}

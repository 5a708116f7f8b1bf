import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CleanUp, openAll } from '../../../support/servers/clean-up';
import { freePort } from '../../../support/servers/free-port';
import { OwnBroker } from '../../../support/servers/own-broker';
import { serviceEnvironment } from '../../../support/servers/service-environment';
import { SimulatorProcess } from '../../../support/servers/simulator-process';
import { TcpProxy } from '../../../support/servers/tcp-proxy';
import { buildPreviousRelease } from '../build/build-previous-release';
import { copyBuild } from '../build/copy-build';
import { HOOKS } from '../build/crash-points';
import { type Patch } from '../build/patch';
import { type CampaignTransport } from '../campaign-options';
import { CAMPAIGN_ENVIRONMENT } from './campaign-environment';
import { Database } from './database';
import { type DatabaseServers, startDatabases } from './database-servers';
import { Instance, type InstancePlan } from './instance';
import { asService, SERVICE_LOGIN } from './service-login';

/** Small, so that a message above it need not be large: RabbitMQ's own limit is 128 MiB, since 4.0 16 MiB. */
const MAX_MESSAGE_BYTES = 1_048_576;

interface Setting {
  readonly transport: CampaignTransport;
  readonly instances: number;
  readonly isBrokerDead: boolean;
  readonly hasStandby: boolean;
  readonly usesPgbouncer: boolean;
  readonly hasSmallDisk: boolean;
  readonly keepsLogs: boolean;
  /** Beside the hooks of every run. */
  readonly patches: readonly Patch[];
  /** Beside or instead of the usual environment of the service. */
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Everything that runs, for as long as the campaign does. */
export interface Stage {
  readonly folder: string;
  readonly transport: CampaignTransport;
  readonly usesPgbouncer: boolean;
  readonly prefix: string;
  readonly apiKey: string;
  /** Past the proxy. */
  readonly amqpUrl: string;
  /** Of the instances. */
  readonly environment: Readonly<Record<string, string>>;
  readonly broker: OwnBroker;
  readonly databases: DatabaseServers;
  readonly database: Database;
  readonly simulator: SimulatorProcess;
  readonly ways: Readonly<Record<'database' | 'broker' | 'provider', TcpProxy>>;
  readonly instances: readonly Instance[];
  close(): Promise<void>;
}

/** Starts the servers, the provider and the service, each on its own. */
export function openStage(setting: Setting): Promise<Stage> {
  return openAll((cleanUp) => raise(setting, cleanUp), { keepsEvidence: setting.keepsLogs });
}

async function raise(setting: Setting, cleanUp: CleanUp): Promise<Omit<Stage, 'close'>> {
  const { transport, signal } = setting;
  const folder = mkdtempSync(join(tmpdir(), 'order-timeout-faults-'));
  cleanUp.add('deleting the folder', async () => rmSync(folder, { recursive: true, force: true }), {
    isEvidence: true,
  });
  // The servers run as nobody.
  chmodSync(folder, 0o755);
  const dist = copyBuild(folder, [...HOOKS, ...setting.patches]);
  const profile = transport === 'delayed-exchange' ? 'plugin' : 'plain';
  const [broker, databases] = await Promise.all([
    OwnBroker.open({ profile, directory: join(folder, 'broker'), maxMessageSize: MAX_MESSAGE_BYTES }),
    startDatabases(setting),
  ]);
  cleanUp.add('ending the broker', () => broker.close());
  cleanUp.add('ending the database', () => databases.close());
  const { amqpUrl } = broker;
  await broker.addUser(SERVICE_LOGIN);
  if (setting.isBrokerDead) await broker.kill();
  const simulator = await SimulatorProcess.start({
    isBuilt: true,
    signal,
    logFile: join(folder, 'payment-simulator.log'),
  });
  cleanUp.add('ending the payment simulator', () => simulator.stop());
  const ways = {
    get database(): TcpProxy {
      return databases.way;
    },
    broker: await TcpProxy.open(amqpUrl),
    provider: await TcpProxy.open(simulator.url),
  };
  for (const way of [ways.broker, ways.provider]) cleanUp.add('closing a proxy', () => way.shut());
  const prefix = 'order-timeout.faults';
  const apiKey = randomBytes(24).toString('hex');
  const environment = {
    ...serviceEnvironment({
      ...{ transport, prefix, apiKey },
      databaseUrl: databases.serviceUrl,
      rabbitUrls: ways.broker.through(asService(amqpUrl)),
    }),
    ...simulator.environmentAt(ways.provider.through(simulator.url)),
    ...CAMPAIGN_ENVIRONMENT,
    // The oldest PgBouncer that distributions have cannot prepare statements in this mode.
    ...(setting.usesPgbouncer && { DATABASE_PREPARED_STATEMENTS: 'off' }),
    ...setting.environment,
  };
  const previous = once(async () => {
    const build = await buildPreviousRelease();
    cleanUp.add('removing the release before', () => build.remove());
    return build.dist;
  });
  const fleet: Fleet = {
    ...{ dist, environment, folder, signal },
    // It may know fewer ways of naming several servers than this one.
    previous: async () => ({
      dist: await previous(),
      environment: { DATABASE_URL: databases.way.through(asService(databases.primaryUrl)) },
    }),
  };
  const instances = await startInstances(setting.instances, fleet, cleanUp);
  const database = new Database(() => databases.primaryUrl);
  cleanUp.add('closing the connection to the database', () => database.close());
  const { usesPgbouncer } = setting;
  return {
    ...{ folder, transport, usesPgbouncer, prefix, apiKey, amqpUrl, environment },
    ...{ broker, databases, database, simulator, ways, instances },
  };
}

interface Fleet extends Omit<InstancePlan, 'number' | 'logFile' | 'port'> {
  readonly folder: string;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

async function startInstances(count: number, fleet: Fleet, cleanUp: CleanUp): Promise<Instance[]> {
  const { folder, ...rest } = fleet;
  const instances: Instance[] = [];
  for (let number = 1; number <= count; number += 1) {
    const logFile = join(folder, `service-${number}.log`);
    const instance = new Instance({ ...rest, number, logFile, port: await freePort() });
    cleanUp.add(`ending instance ${number}`, () => instance.kill());
    instances.push(instance);
  }
  // The first one alone: it migrates the database, the others would only wait for it.
  await instances[0]?.start();
  await Promise.all(instances.slice(1).map((instance) => instance.start()));
  return instances;
}

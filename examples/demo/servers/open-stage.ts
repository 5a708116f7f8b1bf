import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type INestApplicationContext } from '@nestjs/common';
import { type ChannelModel } from 'amqplib';
import { Records } from '../../../test/support/checks/records';
import { EventListener } from '../../../test/support/events/event-listener';
import { RunError } from '../../../test/support/run-error';
import { type CleanUp } from '../../../test/support/servers/clean-up';
import { freePort } from '../../../test/support/servers/free-port';
import { programFile } from '../../../test/support/servers/program-file';
import { serviceEnvironment } from '../../../test/support/servers/service-environment';
import { ServiceProcess } from '../../../test/support/servers/service-process';
import { SimulatorProcess } from '../../../test/support/servers/simulator-process';
import { onServer, urlOf } from '../../../test/support/database';
import { AmqpChannel } from '../channels/amqp-channel';
import { type Stage } from '../channels/drive-orders';
import { HttpChannel } from '../channels/http-channel';
import { type Transport } from '../demo-options';
import { CREATE_BASKET } from '../shop/basket';
import { openShop } from '../shop/open-shop';
import { Shop } from '../shop/shop';
import { clearBroker, connectBroker } from './broker-room';

const START_LIMIT_MS = 30_000;

interface Setting {
  readonly environment: { readonly databaseUrl: string; readonly rabbitUrls: readonly string[] };
  readonly transport: Transport;
  readonly stock: ReadonlyMap<string, number>;
  /** Variables of the service, beside those that every run sets. */
  readonly serviceVariables?: Readonly<Record<string, string>>;
  readonly output: NodeJS.WriteStream;
  readonly cleanUp: CleanUp;
  readonly signal: AbortSignal;
  readonly onDeath: (sentence: string) => void;
}

/** The broker, as programs beside the service use it. */
export interface Bus {
  readonly broker: ChannelModel;
  readonly listener: EventListener;
  readonly amqp: AmqpChannel;
  readonly prefix: string;
}

/** Everything that runs, for as long as the demo does. */
export interface Theatre extends Omit<Stage, 'signal' | 'onPlaced'> {
  readonly service: ServiceProcess;
  readonly records: Records;
  /** Undefined: there is no broker. */
  readonly bus: Bus | undefined;
  readonly transportInUse: string;
}

interface Ground {
  readonly databaseUrl: string;
  readonly prefix: string;
  readonly logs: string;
}

/** Sets the demo up: each thing notes at once how it is to be undone. */
export async function openStage(setting: Setting): Promise<Theatre> {
  const { environment, cleanUp, signal, onDeath } = setting;
  const ground = await prepareGround(setting);
  const { prefix, logs, databaseUrl } = ground;
  const bus = environment.rabbitUrls.length > 0 ? await openBus(setting, prefix) : undefined;

  const child = { isBuilt: true, onDeath, signal };
  const simulator = await SimulatorProcess.start({ ...child, logFile: join(logs, 'payment-simulator.log') });
  cleanUp.add('ending the payment simulator', () => simulator.stop());

  const apiKey = randomBytes(24).toString('hex');
  const around = { databaseUrl, rabbitUrls: environment.rabbitUrls.join(), prefix, apiKey };
  const service = new ServiceProcess({
    ...{ name: 'the service', nodeArguments: programFile('service', true), onDeath, signal },
    ...{ port: await freePort(), startLimitMs: START_LIMIT_MS, logFile: join(logs, 'service.log') },
    environment: {
      ...serviceEnvironment({ ...around, transport: setting.transport }),
      ...simulator.environmentAt(),
      LOG_LEVEL: 'info',
      ...setting.serviceVariables,
    },
  });
  cleanUp.add('ending the service', () => service.stop());
  const transportInUse = await service.start();

  const records = await Records.open(databaseUrl);
  cleanUp.add('closing the connection to the database', () => records.close());
  await records.execute(CREATE_BASKET);
  const shop = await startShop(setting, ground);
  const http = new HttpChannel(service.url, apiKey, signal);
  for (const [sku, onHand] of setting.stock) await http.setStock(sku, onHand);
  return {
    ...{ service, records, bus, transportInUse, simulator },
    // Without a broker, the shops that would send commands use HTTP.
    channels: { http, amqp: bus?.amqp ?? http, module: shop.get(Shop) },
    notifyUrl: (orderId) => `${service.url}/orders/${orderId}/paid`,
    notifyHeaders: { 'x-api-key': apiKey },
    databaseAheadMs: await records.aheadMs(),
  };
}

/** The service has not declared anything yet: no event may be missed. */
async function openBus({ environment, cleanUp, onDeath }: Setting, prefix: string): Promise<Bus> {
  const broker = await connectBroker(environment.rabbitUrls);
  cleanUp.add('deleting what was declared on the broker', () => clearBroker(environment.rabbitUrls, prefix));
  broker.on('error', (error: Error) => onDeath(`the demo's own connection to the broker broke: ${error.message}`));
  cleanUp.add('closing the connection to the broker', () => broker.close());
  const listener = await EventListener.open(broker, prefix);
  return { broker, listener, prefix, amqp: await AmqpChannel.open(broker, prefix) };
}

/** A database, names on the broker and a folder that are only this run's. */
async function prepareGround({ environment, cleanUp, output }: Setting): Promise<Ground> {
  const run = randomBytes(4).toString('hex');
  const logs = mkdtempSync(join(tmpdir(), 'order-timeout-demo-'));
  cleanUp.add('deleting the logs', () => rm(logs, { recursive: true, force: true }), { isEvidence: true });
  const name = `order_timeout_demo_${run}`;
  await onServer(`CREATE DATABASE ${name}`, environment.databaseUrl).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RunError(
      `no database could be made on the server of DATABASE_URL (${reason}); is it up, and may its user create databases?`,
    );
  });
  cleanUp.add('dropping the database', () =>
    onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, environment.databaseUrl),
  );
  const prefix = `order-timeout.demo-${run}`;
  const names = environment.rabbitUrls.length > 0 ? `broker names ${prefix}.*` : 'no broker';
  output.write(`  database ${name}, ${names}, logs in ${logs}\n`);
  return { databaseUrl: urlOf(name, environment.databaseUrl), prefix, logs };
}

async function startShop(
  { environment, transport, cleanUp }: Setting,
  { databaseUrl, prefix, logs }: Ground,
): Promise<INestApplicationContext> {
  const shop = await openShop({
    databaseUrl,
    rabbitUrls: environment.rabbitUrls,
    prefix,
    transport,
    logFile: join(logs, 'shop.log'),
  });
  cleanUp.add('ending the shop', () => shop.close());
  return shop;
}

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChannelModel, connect } from 'amqplib';
import { DemoRecords } from '../../../examples/demo/observing/demo-records';
import { EventListener } from '../../../examples/demo/observing/event-listener';
import { CleanUp } from '../../../examples/demo/servers/clean-up';
import { freePort } from '../../../examples/demo/servers/free-port';
import { until } from '../../../examples/demo/servers/until';
import { createDatabase } from '../../support/database';
import { createVhost } from '../../support/rabbit-vhost';
import { ACCOUNTS, BUSY_ACCOUNT, type ProviderName } from '../scenario';
import { httpJson } from './http-json';
import { Program } from './program';
import { providerConfiguration } from './provider-configuration';
import { serviceEnvironment } from './service-environment';
import { ShopClient } from './shop-client';
import { SimulatorClient, type SimulatorMerchants } from './simulator-client';

/** Two processes of the service, so that each of them sees what the other one does. */
const PROCESSES = 2;
const START_LIMIT_MS = 60_000;
const PREFIX = 'order-timeout.scenarios';

/** Everything that runs, for as long as the scenarios do. */
export interface Stage {
  readonly simulator: SimulatorClient;
  readonly merchants: SimulatorMerchants;
  /** One for each process of the service. */
  readonly shops: readonly ShopClient[];
  readonly records: DemoRecords;
  readonly listener: EventListener;
  /** What the processes of the service have logged. */
  logs(): string;
  close(): Promise<void>;
}

/** Starts the simulator and the service on a database and a broker's vhost of their own. */
export async function openStage(providers: readonly ProviderName[], signal: AbortSignal): Promise<Stage> {
  const cleanUp = new CleanUp();
  const close = async (): Promise<void> => {
    const failures = await cleanUp.run({ keepsEvidence: false });
    if (failures.length > 0) throw new Error(`not cleaned up: ${failures.join('; ')}`);
  };
  try {
    return { ...(await raise(providers, cleanUp, signal)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function raise(
  providers: readonly ProviderName[],
  cleanUp: CleanUp,
  signal: AbortSignal,
): Promise<Omit<Stage, 'close'>> {
  const database = await createDatabase();
  cleanUp.add('dropping the database', () => database.drop());
  const vhost = await createVhost();
  cleanUp.add('dropping the vhost', () => vhost.drop());
  const simulator = await startSimulator(cleanUp);
  const merchants = await simulator.merchants();
  const providersFile = writeConfiguration(providerConfiguration(providers, simulator.url, merchants), cleanUp);
  const broker = await connect(vhost.url);
  cleanUp.add('closing the connection to the broker', () => broker.close());
  const listener = await openListener(broker);
  const apiKey = randomBytes(24).toString('hex');
  const base = { databaseUrl: database.url, rabbitUrl: vhost.url, prefix: PREFIX, apiKey, providersFile };
  const services: Program[] = [];
  const shops: ShopClient[] = [];
  for (let process = 0; process < PROCESSES; process += 1) {
    const port = await freePort();
    const service = Program.start('service', serviceEnvironment({ ...base, port }));
    cleanUp.add('ending the service', () => service.stop());
    services.push(service);
    shops.push(new ShopClient(`http://127.0.0.1:${port}`, apiKey));
  }
  await Promise.all(shops.map(({ url }, index) => untilReady(url, services[index], signal)));
  const records = await DemoRecords.open(database.url);
  cleanUp.add('closing the connection to the database', () => records.close());
  const logs = (): string => services.map(({ output }) => output).join('\n');
  return { simulator, merchants, shops, records, listener, logs };
}

async function startSimulator(cleanUp: CleanUp): Promise<SimulatorClient> {
  const program = Program.start('payment-simulator', {
    PAYMENT_SIMULATOR_ACCOUNTS: [...ACCOUNTS, BUSY_ACCOUNT].join(','),
    // Repetitions within the run: the first of Alipay's after 2.4 s.
    PAYMENT_SIMULATOR_RETRY_SPEED_UP: '100',
  });
  cleanUp.add('ending the payment simulator', () => program.stop());
  const [, url = ''] = await program.untilSays(/\{"url":"([^"]+)"\}/);
  return new SimulatorClient(url);
}

function writeConfiguration(configuration: object, cleanUp: CleanUp): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-timeout-scenarios-'));
  cleanUp.add('deleting the configuration', async () => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'providers.json');
  writeFileSync(file, JSON.stringify(configuration, null, 2), { mode: 0o600 });
  return file;
}

/** Before the service can send its first event. */
function openListener(broker: ChannelModel): Promise<EventListener> {
  return EventListener.open(broker, PREFIX);
}

async function untilReady(url: string, service: Program | undefined, signal: AbortSignal): Promise<void> {
  try {
    await until('the start of the service', START_LIMIT_MS, signal, async () => {
      const answer = await httpJson('GET', `${url}/health/ready`).catch(() => undefined);
      return answer?.text.includes('"ready"') ? true : undefined;
    });
  } catch (error) {
    throw new Error(`${String(error)}; its last words:\n${service?.output.slice(-2_000)}`);
  }
}

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'amqplib';
import { Records } from '../../support/checks/records';
import { EventListener } from '../../support/events/event-listener';
import { type CleanUp, openAll } from '../../support/servers/clean-up';
import { freePort } from '../../support/servers/free-port';
import { programFile } from '../../support/servers/program-file';
import { serviceEnvironment } from '../../support/servers/service-environment';
import { ServiceProcess } from '../../support/servers/service-process';
import { type SimulatorClient, type SimulatorMerchants } from '../../support/servers/simulator-client';
import { SimulatorProcess } from '../../support/servers/simulator-process';
import { createDatabase } from '../../support/database';
import { createVhost } from '../../support/rabbit-vhost';
import { ACCOUNTS, BUSY_ACCOUNT, type ProviderName } from '../scenario';
import { providerConfiguration } from './provider-configuration';
import { SCENARIO_ENVIRONMENT } from './scenario-environment';
import { ShopClient } from './shop-client';

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
  readonly records: Records;
  readonly listener: EventListener;
  /** What the processes of the service have logged. */
  logs(): string;
  close(): Promise<void>;
}

/** Starts the simulator and the service on a database and a broker's vhost of their own. */
export function openStage(providers: readonly ProviderName[], signal: AbortSignal): Promise<Stage> {
  return openAll((cleanUp) => raise(providers, cleanUp, signal));
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
  const folder = mkdtempSync(join(tmpdir(), 'order-timeout-scenarios-'));
  cleanUp.add('deleting the folder', async () => rmSync(folder, { recursive: true, force: true }));
  const child = { isBuilt: process.env.SCENARIOS_BUILT !== undefined, signal };
  const simulator = await SimulatorProcess.start({
    ...{ ...child, logFile: join(folder, 'payment-simulator.log') },
    environment: {
      PAYMENT_SIMULATOR_ACCOUNTS: [...ACCOUNTS, BUSY_ACCOUNT].join(','),
      // Repetitions within the run: the first of Alipay's after 2.4 s.
      PAYMENT_SIMULATOR_RETRY_SPEED_UP: '100',
    },
  });
  cleanUp.add('ending the payment simulator', () => simulator.stop());
  const merchants = await simulator.merchants();
  const providersFile = join(folder, 'providers.json');
  const configuration = providerConfiguration(providers, simulator.url, merchants);
  writeFileSync(providersFile, JSON.stringify(configuration, null, 2), { mode: 0o600 });
  const broker = await connect(vhost.url);
  cleanUp.add('closing the connection to the broker', () => broker.close());
  // Before the service can send its first event.
  const listener = await EventListener.open(broker, PREFIX);
  const apiKey = randomBytes(24).toString('hex');
  const around = { databaseUrl: database.url, rabbitUrls: vhost.url, prefix: PREFIX, apiKey, transport: 'ladder' };
  const environment = {
    ...serviceEnvironment(around),
    ...SCENARIO_ENVIRONMENT,
    PAYMENT_PROVIDERS_FILE: providersFile,
  };
  const services: ServiceProcess[] = [];
  for (let number = 1; number <= PROCESSES; number += 1) {
    const service = new ServiceProcess({
      ...{ name: `service ${number}`, nodeArguments: programFile('service', child.isBuilt), environment, signal },
      ...{ port: await freePort(), startLimitMs: START_LIMIT_MS, logFile: join(folder, `service-${number}.log`) },
    });
    cleanUp.add('ending the service', () => service.stop());
    services.push(service);
  }
  await Promise.all(services.map((service) => service.start()));
  const shops = services.map(({ url }) => new ShopClient(url, apiKey));
  const records = await Records.open(database.url);
  cleanUp.add('closing the connection to the database', () => records.close());
  const logs = (): string => services.map(({ output }) => output).join('\n');
  return { simulator, merchants, shops, records, listener, logs };
}

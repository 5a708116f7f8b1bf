import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { environmentOf } from '../e2e/running-service';
import { freePort } from '../support/servers/free-port';
import { OwnBroker } from '../support/servers/own-broker';
import { programFile } from '../support/servers/program-file';
import { Prometheus } from '../support/servers/prometheus';
import { ServiceProcess } from '../support/servers/service-process';
import { TcpProxy } from '../support/servers/tcp-proxy';
import { createDatabase, type TestDatabase } from '../support/database';
import { REPOSITORY } from '../support/snippets';
import { BrokenBank } from './broken-bank';
import { untilRecorded } from './until-recorded';

interface ScrapeConfig {
  readonly job_name: string;
  readonly [key: string]: unknown;
}

interface PrometheusConfig {
  readonly scrape_configs: readonly ScrapeConfig[];
  readonly [key: string]: unknown;
}

/** A service, its servers, and a Prometheus that scrapes it as in Docker Compose. */
export interface ScrapedService {
  readonly service: ServiceProcess;
  readonly broker: OwnBroker;
  readonly database: TestDatabase;
  /** The way of the service to its database. */
  readonly gate: TcpProxy;
  readonly prometheus: Prometheus;
  close(): Promise<void>;
}

export async function openScrapedService(): Promise<ScrapedService> {
  const [port, prometheusPort] = [await freePort(), await freePort()];
  const openBroker = OwnBroker.open({ profile: 'plain', prometheusPort });
  const [broker, database, bank] = await Promise.all([openBroker, createDatabase(), BrokenBank.open()]);
  const gate = await TcpProxy.open(database.url);
  const folder = mkdtempSync(join(tmpdir(), 'order-timeout-observability-'));
  const environment = {
    ...{ ...environmentOf(gate.url, broker.amqpUrl), ...bank.environment },
    ...{ LATE_PAYMENT: 'keep', LOG_LEVEL: 'warn' },
  };
  const plan = { name: 'the service', nodeArguments: programFile('service'), environment };
  const service = new ServiceProcess({ ...plan, port, startLimitMs: 60_000, logFile: join(folder, 'service.log') });
  await service.start();
  const prometheus = await Prometheus.open(configuration({ service: port, broker: prometheusPort }));
  // An increase is seen from the second sample on.
  await untilRecorded(prometheus, 'order_timeout_database_up');
  const close = async (): Promise<void> => {
    await prometheus.close();
    await service.stop();
    await gate.shut();
    await bank.close();
    await broker.close();
    await database.drop();
    rmSync(folder, { recursive: true });
  };
  return { service, broker, database, gate, prometheus, close };
}

/** observability/prometheus.yml with these ports instead of the names of containers, and every second. */
function configuration(ports: { readonly service: number; readonly broker: number }): string {
  const file = readFileSync(join(REPOSITORY, 'observability/prometheus.yml'), 'utf8');
  const { scrape_configs: jobs, ...rest } = parse(file) as PrometheusConfig;
  const scraped = jobs.filter(({ job_name: name }) => name !== 'prometheus');
  return stringify({
    ...rest,
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    scrape_configs: scraped.map((job) => {
      const port = job.job_name === 'order-timeout' ? ports.service : ports.broker;
      return { ...job, dns_sd_configs: [], static_configs: [{ targets: [`127.0.0.1:${port}`] }] };
    }),
  });
}

import { type AddressInfo } from 'node:net';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { PaymentSimulator, SIMULATOR_SECRET } from 'nestjs-order-timeout-payment-simulator';
import { type Browser, type Page } from 'playwright-core';
import { loadConfig } from '../../src/service/config';
import { createService, startService } from '../../src/service/create-service';
import { callerOf, environmentOf, type RunningService } from '../e2e/running-service';
import { apiKeyEntry } from '../support/servers/service-environment';
import { createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { openPage, type OpenPage, startBrowser } from './browser';

export const OPERATOR_KEY = 'key-of-lena';
/** The provider of the payment simulator. */
export const PROVIDER = 'simulator';

/** A browser at the operator page of a service, on a database and a vhost of its own. */
export interface ServiceStage {
  readonly call: RunningService['call'];
  readonly vhost: TestVhost;
  /** Where payments are scripted. */
  readonly simulatorUrl: string;
  query<T>(sql: string, values?: unknown[]): Promise<T[]>;
  /** Signed in, at a view that has loaded. */
  open(hash: string): Promise<Page>;
  /** Closes what a test has opened. Returns what the browser complained about. */
  tidy(): Promise<string[]>;
  close(): Promise<void>;
}

/** Starts all of them. The page must be built. */
export async function openServiceStage(): Promise<ServiceStage> {
  const [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  const simulator = new PaymentSimulator({ name: PROVIDER, secret: SIMULATOR_SECRET });
  const simulatorUrl = await simulator.listen(0);
  const app = await startOn(database, vhost, simulatorUrl);
  const call = callerOf(app);
  await until(async () => (await call('get', '/health/ready')).body.status === 'ready');
  const browser = await startBrowser();
  const url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/operator/`;
  const opened: OpenPage[] = [];
  const tidy = async (): Promise<string[]> => {
    const complaints = opened.flatMap((one) => one.complaints);
    for (const { context } of opened.splice(0)) await context.close();
    return complaints;
  };
  return {
    ...{ call, vhost, tidy, simulatorUrl },
    query: (sql, values) => database.dataSource.query(sql, values),
    open: (hash) => openView(browser, `${url}${hash}`, opened),
    close: async () => {
      await browser.close();
      await app.close();
      await simulator.close();
      await database.drop();
      await vhost.drop();
    },
  };
}

async function startOn(
  database: TestDatabase,
  vhost: TestVhost,
  simulatorUrl: string,
): Promise<NestExpressApplication> {
  const config = loadConfig({
    ...environmentOf(database.url, vhost.url),
    ...{ LATE_PAYMENT: 'keep', SURPLUS_PAYMENT: 'keep' },
    HTTP_PAYMENT_PROVIDER_NAME: PROVIDER,
    HTTP_PAYMENT_PROVIDER_URL: simulatorUrl,
    HTTP_PAYMENT_PROVIDER_SECRET: SIMULATOR_SECRET,
    OPERATOR_KEYS: apiKeyEntry('lena', OPERATOR_KEY, 'operate+money+reveal'),
  });
  const app = await createService(config);
  await startService(app, config.http);
  return app;
}

async function openView(browser: Browser, address: string, opened: OpenPage[]): Promise<Page> {
  const one = await openPage(browser);
  opened.push(one);
  const { page } = one;
  await page.goto(address);
  await page.getByLabel('Operator key').fill(OPERATOR_KEY);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Overview' }).waitFor();
  await page.locator('main:not(:has([aria-busy]))').waitFor();
  return page;
}

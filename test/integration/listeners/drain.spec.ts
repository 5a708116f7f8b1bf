import { Injectable } from '@nestjs/common';
import { OnOrder, type OrderEvent } from '../../../src';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { type ListeningHost, startHost } from './listening-host';

const ORDERS = 300;
const PATIENCE_MS = 60_000;

/** Slower than the closings: no call ends before the test opens the gate. */
@Injectable()
class SlowMailer {
  readonly heard: string[] = [];
  private open = (): void => undefined;
  private readonly gate = new Promise<void>((resolve) => (this.open = resolve));

  @OnOrder('closed', { name: 'slow-mailer', timeoutMs: PATIENCE_MS })
  async send({ orderId }: OrderEvent<'closed'>): Promise<void> {
    this.heard.push(orderId);
    await this.gate;
  }

  hurry(): void {
    this.open();
  }
}

describe('calls of a listener that is slower than the closings', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let host: ListeningHost;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    host = await startHost(database, vhost, [SlowMailer]);
  });
  afterAll(async () => {
    await host.app.close();
    await Promise.all([database.drop(), vhost.drop()]);
  });

  it('wait in the database without delaying a closing, and are all made, once each, when it is over', async () => {
    const ids = await Promise.all(Array.from({ length: ORDERS }, () => host.place({ paymentWindowMs: 500 })));
    const open = () => host.orders.list({ status: ['PENDING', 'CLOSING'], limit: 1 });
    await until(async () => (await open()).orders.length === 0, PATIENCE_MS);
    const mailer = host.app.get(SlowMailer);
    expect(await host.deliveries()).toHaveLength(ORDERS);
    expect(mailer.heard.length).toBeLessThan(ORDERS / 10);
    mailer.hurry();
    await until(async () => (await host.deliveries()).length === 0, PATIENCE_MS);
    expect(mailer.heard.toSorted()).toEqual(ids.toSorted());
  });
});

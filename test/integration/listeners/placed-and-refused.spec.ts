import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { OnOrder, OnOrderInTransaction, type OrderEvent, type OrderTimeoutOptions } from '../../../src';
import { AnnounceRefusals } from '../../../src/orders';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { type ListeningHost, startHost } from './listening-host';

type Heard = OrderEvent<'placed' | 'refused'>;

@Injectable()
class Mailer {
  readonly heard: Heard[] = [];

  @OnOrder(['placed', 'refused'], { name: 'mailer' })
  send(event: Heard): void {
    this.heard.push(event);
  }
}

@Injectable()
class Journal {
  readonly batches: number[] = [];

  @OnOrderInTransaction('placed')
  async write(events: OrderEvent<'placed'>[], tx: EntityManager): Promise<void> {
    this.batches.push(events.length);
    for (const { orderId } of events) await tx.query('INSERT INTO journal VALUES ($1)', [orderId]);
    if (events.some(({ orderId }) => orderId.startsWith('vetoed'))) throw new Error('the journal refuses it');
  }
}

const orders: OrderTimeoutOptions['orders'] = { placedEvents: 'send', reminderOffsetsMs: [] };
const lines = [{ sku: 'apple', quantity: 1, unitAmount: 1_999 }];

describe.each(['with', 'without'])('an application %s a broker', (word) => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let host: ListeningHost;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    await database.dataSource.query('CREATE TABLE journal (order_id text PRIMARY KEY)');
    host = await startHost(database, vhost, [Mailer, Journal], {
      orders,
      ...(word === 'without' ? { rabbit: undefined } : {}),
    });
  });
  afterAll(async () => {
    await host.app.close();
    await Promise.all([database.drop(), vhost.drop()]);
  });

  const heardOf = (id: string): Heard[] => host.app.get(Mailer).heard.filter(({ orderId }) => orderId === id);
  const isNoted = async (id: string): Promise<boolean> =>
    (await database.dataSource.query<unknown[]>('SELECT 1 FROM journal WHERE order_id = $1', [id])).length > 0;

  it('hears of each placed order once, in its transaction and after the commit', async () => {
    const id = await host.place({ id: 'placed-1' });
    expect(await isNoted(id)).toBe(true);
    await until(() => heardOf(id).length > 0);
    const view = await host.orders.get(id);
    expect(heardOf(id)).toEqual([
      {
        id: expect.any(String) as string,
        type: 'order.placed',
        version: 1,
        occurredAt: view?.createdAt.toISOString(),
        orderId: id,
        merchantId: 'default',
        orderVersion: 1,
        amount: 1_999,
        currency: 'EUR',
        expiresAt: view?.expiresAt.toISOString(),
        cause: 'api',
      },
    ]);
    await until(async () => (await host.deliveries()).length === 0);
    await host.place({ id: 'placed-2' });
    await until(() => heardOf('placed-2').length > 0);
    expect(heardOf(id)).toHaveLength(1);
  });

  it('hears of orders that are placed together at once, and of none that is refused', async () => {
    const journal = host.app.get(Journal);
    journal.batches.splice(0);
    const wish = { amount: 1_999, currency: 'EUR', lines };
    await host.orders.placeMany([
      { ...wish, id: 'many-1' },
      { ...wish, id: 'many-2', lines: [{ sku: 'nowhere', quantity: 1, unitAmount: 1 }] },
      { ...wish, id: 'many-3' },
    ]);
    expect(journal.batches.at(-1)).toBe(2);
    await until(() => heardOf('many-1').length + heardOf('many-3').length === 2);
    expect([await isNoted('many-2'), heardOf('many-2')]).toEqual([false, []]);
  });

  it('places no order that a listener in the transaction refuses', async () => {
    await until(async () => (await host.deliveries()).length === 0);
    await expect(host.place({ id: 'vetoed' })).rejects.toThrow('the journal refuses it');
    expect(await host.orders.get('vetoed')).toBeUndefined();
    expect(await host.deliveries()).toEqual([]);
  });

  it('hears of an order that was sent as a message and refused', async () => {
    const refusal = { orderId: 'refused', merchantId: 'm', code: 'OUT_OF_STOCK', message: 'no', commandId: null };
    await host.app.get(AnnounceRefusals).execute({ ...refusal, traceparent: undefined });
    await until(() => heardOf('refused').length === 1);
    expect(heardOf('refused')[0]).toMatchObject({ type: 'order.refused', version: 1, ...refusal });
  });
});

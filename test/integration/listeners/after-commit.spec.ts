import { Injectable } from '@nestjs/common';
import {
  type DelayTransportSetting,
  OnOrder,
  OnOrderInTransaction,
  type OrderDelivery,
  type OrderEvent,
} from '../../../src';
import { ParkedTimeouts, TimeoutEngine } from '../../../src/public/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { type ListeningHost, startHost } from './listening-host';

/** What both instances heard, and how they answer. */
const heard: { event: OrderEvent; delivery: OrderDelivery }[] = [];
const failures = new Map<string, number>();

@Injectable()
class Mailer {
  @OnOrder(['closed', 'paid', 'cancelled'], { maxAttempts: 2 })
  async send(event: OrderEvent<'closed' | 'paid' | 'cancelled'>, delivery: OrderDelivery): Promise<void> {
    heard.push({ event, delivery });
    const left = failures.get(event.orderId) ?? 0;
    failures.set(event.orderId, left - 1);
    await Promise.resolve();
    if (left > 0) throw new Error('the mail server is away');
  }
}

@Injectable()
class Ledger {
  @OnOrder('paid', { name: 'ledger', timeoutMs: 1_000, maxAttempts: 2 })
  async book({ orderId }: OrderEvent<'paid'>, { signal }: OrderDelivery): Promise<void> {
    if (failures.has(`hang ${orderId}`)) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
}

/** Takes a while, and counts how many of its calls run at once. */
@Injectable()
class Slow {
  most = 0;
  private running = 0;

  @OnOrder('closed', { name: 'slow', concurrency: 4 })
  async work(): Promise<void> {
    this.most = Math.max(this.most, ++this.running);
    await new Promise((resolve) => setTimeout(resolve, 20));
    this.running--;
  }
}

/** Ends a transaction after the rows of the deliveries are written. */
@Injectable()
class Veto {
  @OnOrderInTransaction('cancelled')
  refuse([event]: OrderEvent<'cancelled'>[]): void {
    if (event?.reason === 'veto') throw new Error('no');
  }
}

describe.each<DelayTransportSetting>(['none', 'ladder'])('listeners after the commit, transport %s', (transport) => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let hosts: ListeningHost[];
  let host: ListeningHost;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    hosts = [];
    for (let n = 0; n < 2; n++)
      hosts.push(await startHost(database, vhost, [Mailer, Ledger, Slow, Veto], { transport }));
    [host] = hosts as [ListeningHost];
    if (transport !== 'none') await until(() => hosts.every(({ app }) => app.get(TimeoutEngine).isMessagePathUp));
  });
  beforeEach(() => heard.splice(0));
  afterAll(async () => {
    for (const { app } of hosts) await app.close();
    await Promise.all([database.drop(), vhost.drop()]);
  });

  const heardOf = (id: string) => heard.filter(({ event }) => event.orderId === id);
  const whenDone = () => until(async () => (await host.deliveries()).every(({ state }) => state === 'parked'));
  const parked = async () => (await host.deliveries()).filter(({ state }) => state === 'parked');

  it('hear each event once, in one of the instances, with the body that is published', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, () => host.place({ paymentWindowMs: 300 })));
    const paid = await host.place();
    await host.pay(paid);
    await until(() => heard.length === 31);
    await whenDone();
    expect(heard.map(({ event }) => event.orderId).sort()).toEqual([...ids, paid].sort());
    expect(heardOf(paid)).toMatchObject([
      { event: { type: 'order.paid', merchantId: 'default', amount: 1_999, cause: 'api' }, delivery: { attempt: 1 } },
    ]);
    expect(new Set(heard.map(({ event }) => event.id)).size).toBe(31);
    const most = hosts.map(({ app }) => app.get(Slow).most);
    expect(Math.max(...most)).toBeGreaterThan(1);
    expect(Math.max(...most)).toBeLessThanOrEqual(6);
  });

  it('run again after an error, with the same event', async () => {
    const id = await host.place();
    failures.set(id, 1);
    await host.pay(id);
    await until(() => heardOf(id).length === 2);
    await whenDone();
    const [first, second] = heardOf(id);
    expect(second?.event).toEqual(first?.event);
    expect([first?.delivery.attempt, second?.delivery.attempt]).toEqual([1, 2]);
    expect(await parked()).toEqual([]);
  });

  it('are parked after their attempts, and run when they are replayed', async () => {
    const id = await host.place();
    failures.set(id, 2);
    await host.orders.cancel({ orderId: id });
    await until(async () => (await parked()).length === 1);
    const [row] = await parked();
    const event = heardOf(id)[0]?.event;
    expect(row).toMatchObject({
      kind: 'order-listener.Mailer.send',
      key: event?.id,
      last_error: 'the mail server is away',
    });
    await host.app.get(ParkedTimeouts).replay([{ kind: row?.kind ?? '', key: row?.key ?? '' }]);
    await until(async () => (await host.deliveries()).length === 0);
    expect(heardOf(id)).toHaveLength(3);
  });

  it('do not hear of a change that is rolled back', async () => {
    const [undone, vetoed, done] = [await host.place(), await host.place(), await host.place()];
    const change = database.dataSource.transaction(async (tx) => {
      await host.orders.cancel({ orderId: undone }, { tx });
      throw new Error('changed my mind');
    });
    await expect(change).rejects.toThrow('changed my mind');
    await expect(host.orders.cancel({ orderId: vetoed, reason: 'veto' })).rejects.toThrow('no');
    await host.orders.cancel({ orderId: done });
    await until(() => heardOf(done).length === 1);
    await whenDone();
    expect([heardOf(undone), heardOf(vetoed)]).toEqual([[], []]);
  });

  it('count a call that hangs, without keeping other listeners from the event', async () => {
    const id = await host.place();
    failures.set(`hang ${id}`, 1);
    await host.pay(id);
    await until(() => heardOf(id).length === 1);
    await until(async () =>
      (await host.deliveries()).some(
        ({ last_error }) => last_error === 'the call did not end before its signal aborted',
      ),
    );
    failures.delete(`hang ${id}`);
    await until(async () => (await host.deliveries()).length === 0);
    expect(heardOf(id)).toHaveLength(1);
  });
});

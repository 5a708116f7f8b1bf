import { ResilientClient } from '../../src/database';
import { ReplicatedDatabase } from '../support/servers/replicated-database';
import { connectTo } from '../support/database';
import { until } from '../support/engine';
import { PayingCustomers } from './paying-customers';
import { anOrder, openService, type RunningService } from '../e2e/running-service';

const RECOVERY_MS = 10_000;
/** A statement without an answer is given up after 9 s, so that each kind of request is repeated after that. */
const TRIES_MS = 25_000;

describe('the service on a primary with a synchronous standby', () => {
  let servers: ReplicatedDatabase;
  let service: RunningService;

  beforeAll(async () => {
    servers = await ReplicatedDatabase.open();
    // As a host connects: the client finds the primary among the servers of the URL.
    const dataSource = await connectTo(servers.databaseUrl, 2, { Client: ResilientClient });
    const drop = (): Promise<void> => dataSource.destroy();
    service = await openService({}, { url: servers.databaseUrl, dataSource, drop });
    await service.call('put', '/inventory/apple', { onHand: 1_000_000 }).expect(200);
  });
  afterAll(async () => {
    await service.close();
    await servers.close();
  });

  it('loses and parks nothing when the primary is killed, and when it is back and the other one is killed', async () => {
    const customers = new PayingCustomers(service);
    await customers.untilServed();
    for (const name of ['there', 'and back']) {
      await servers.killPrimary();
      await until(async () => (await service.call('get', '/health/ready')).status === 503);
      await servers.promote();
      const ms = await customers.untilServed();
      expect({ name, isInTime: ms < RECOVERY_MS, ms }).toMatchObject({ isInTime: true });
      expect((await service.call('get', '/health/ready')).body).toMatchObject({ database: 'up' });
      await servers.rejoin();
    }
    await customers.stop();
    const paid = new Set<string>();
    await until(async () => {
      for (const id of customers.placed.filter((each) => !paid.has(each)))
        if ((await customers.read(id)) === 'PAID') paid.add(id);
      return paid.size === customers.placed.length;
    });
    expect(customers.placed.length).toBeGreaterThan(20);
    expect(service.parked).toEqual([]);
  });

  it('acknowledges nothing that the standby does not have, however often it is asked', async () => {
    const [known, paid, refused] = [anOrder(), anOrder(), anOrder()];
    for (const order of [known, paid]) await service.call('post', '/orders', order).expect(201);
    await servers.killStandby();
    const until = performance.now() + TRIES_MS;
    const report = { provider: 'p', reference: paid.id, amount: paid.amount, currency: paid.currency };
    const answers = await Promise.all([
      statusesUntil(until, () => service.call('post', '/orders', refused)),
      statusesUntil(until, () => service.call('post', `/orders/${paid.id}/paid`, report)),
      statusesUntil(until, () => service.call('post', `/orders/${known.id}/cancel`, {})),
    ]);
    expect(answers).toEqual([new Set([503]), new Set([503]), new Set([503])]);
    const toldOf = service.events.map((event) => event.fields.routingKey + String(event.content));
    expect(toldOf.filter((text) => text.startsWith('order.paid') && text.includes(paid.id))).toEqual([]);

    await servers.killPrimary();
    await servers.promote();
    const customers = new PayingCustomers(service);
    await customers.untilServed();
    await customers.stop();
    expect(await customers.read(known.id)).toBe('PENDING');
    expect(await customers.read(paid.id)).toBe('PENDING');
    await service.call('post', '/orders', refused).expect(201);
    await service.call('post', `/orders/${paid.id}/paid`, report).expect(200);
    await servers.rejoin();
  });
});

/** The answers to a request that is repeated. */
async function statusesUntil(untilMs: number, send: () => PromiseLike<{ status: number }>): Promise<Set<number>> {
  const statuses = new Set<number>();
  while (performance.now() < untilMs) {
    statuses.add((await send()).status);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return statuses;
}

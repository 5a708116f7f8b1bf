import { ResilientClient } from '../../src/database';
import { ReplicatedDatabase } from '../harness/servers/replicated-database';
import { connectTo } from '../support/database';
import { until } from '../support/engine';
import { PayingCustomers } from './paying-customers';
import { openService, type RunningService } from '../e2e/running-service';

const RECOVERY_MS = 10_000;

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
});

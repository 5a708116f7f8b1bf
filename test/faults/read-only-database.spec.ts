import { setTimeout as sleep } from 'node:timers/promises';
import { onServer } from '../support/database';
import { until } from '../support/engine';
import { PayingCustomers } from './paying-customers';
import { openService, type RunningService } from '../e2e/running-service';

const READ_ONLY_MS = 4_000;
const SETTLED_MS = 3_000;

describe('the service while the database only reads', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
    await service.call('put', '/inventory/apple', { onHand: 1_000_000 }).expect(200);
  });
  afterAll(() => service.close());

  const name = (): string => new URL(service.database.url).pathname.slice(1);
  const switchTo = async (mode: 'on' | 'off'): Promise<void> => {
    await onServer(`ALTER DATABASE ${name()} SET default_transaction_read_only = ${mode}`);
  };
  /** As a switch-over does it; sessions that begin in between keep the setting for as long as they live. */
  const cutSessions = (): Promise<void> =>
    onServer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name()}'`);

  it('parks no payment, says that it is not ready, and has no sick connection left soon after', async () => {
    const customers = new PayingCustomers(service);
    const served = await customers.untilServed();
    expect(served).toBeGreaterThan(0);
    await switchTo('on');
    await cutSessions();
    await until(async () => (await service.call('get', '/health/ready')).status === 503);
    const during = [...customers.placed];
    await sleep(READ_ONLY_MS);
    await switchTo('off');
    await customers.untilServed();
    await sleep(SETTLED_MS);
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const stock = { onHand: 1_000 + n };
        return (await service.call('put', `/inventory/pear-${n}`, stock)).status;
      }),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    await customers.stop();
    await until(async () => {
      const all = await Promise.all(customers.placed.map((id) => customers.read(id)));
      return all.every((status) => status === 'PAID');
    });
    expect(customers.placed.length).toBeGreaterThan(during.length);
    expect(service.parked).toEqual([]);
  });
});

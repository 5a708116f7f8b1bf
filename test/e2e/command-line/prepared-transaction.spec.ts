import { type DoctorReport } from '../../../src/operations';
import { runJson } from '../../support/command-line';
import { connectTo } from '../../support/database';
import { until } from '../../support/engine';
import { ReplicatedDatabase } from '../../support/servers/replicated-database';
import { anOrder, environmentOf, openService, type RunningService } from '../running-service';

/** It has no session, so neither a pid nor an entry of pg_stat_activity. */
describe('a prepared transaction that nobody ends', () => {
  let servers: ReplicatedDatabase;
  let service: RunningService;

  beforeAll(async () => {
    servers = await ReplicatedDatabase.open();
    const dataSource = await connectTo(servers.primaryUrl, 2);
    service = await openService({}, { url: servers.databaseUrl, dataSource, drop: () => dataSource.destroy() });
  });
  afterAll(async () => {
    await service.close();
    await servers.close();
  });

  it('is named by the doctor while it holds an order, with the statement that ends it', async () => {
    const sql = (text: string): Promise<unknown> => service.database.dataSource.query(text);
    const order = anOrder({ lines: [] });
    await service.call('post', '/orders', order).expect(201);
    await sql(`BEGIN; UPDATE order_timeout.orders SET metadata = metadata; PREPARE TRANSACTION 'orphan'`);
    await service.call('post', `/orders/${order.id}/cancel`, {}).expect(503);
    const examine = (): Promise<DoctorReport> =>
      runJson(environmentOf(servers.databaseUrl, 'amqp://127.0.0.1:1'), 'doctor');
    const found = async () => (await examine()).findings.find(({ id }) => id === 'rows-locked');
    await until(async () => (await found()) !== undefined);
    const { severity, seen, remedy } = (await found()) ?? { remedy: '' };
    expect({ severity, seen }).toEqual({ severity: 'error', seen: expect.stringContaining('"orphan"') as string });
    const [rollback = ''] = /ROLLBACK PREPARED [^;]*;/.exec(remedy) ?? [];
    await sql(rollback);
    await service.call('post', `/orders/${order.id}/cancel`, {}).expect(200);
    expect(await found()).toBeUndefined();
  });
});

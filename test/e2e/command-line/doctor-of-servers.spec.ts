import { type DoctorReport } from '../../../src/operations';
import { runJson } from '../../support/command-line';
import { connectTo } from '../../support/database';
import { until } from '../../support/engine';
import { ReplicatedDatabase } from '../../support/servers/replicated-database';
import { anOrder, environmentOf, openService, type RunningService } from '../running-service';

describe('the doctor, of a database with a standby,', () => {
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

  const examine = (): Promise<DoctorReport> =>
    runJson(environmentOf(servers.databaseUrl, 'amqp://127.0.0.1:1'), 'doctor');
  const find = async (id: string) => (await examine()).findings.find((one) => one.id === id);

  it('names a prepared transaction, which has no session, while it holds an order, and tells what ends it', async () => {
    const sql = (text: string): Promise<unknown> => service.database.dataSource.query(text);
    const order = anOrder({ lines: [] });
    await service.call('post', '/orders', order).expect(201);
    await sql(`BEGIN; UPDATE order_timeout.orders SET metadata = metadata; PREPARE TRANSACTION 'orphan'`);
    await service.call('post', `/orders/${order.id}/cancel`, {}).expect(503);
    await until(async () => (await find('rows-locked')) !== undefined);
    const { severity, seen, remedy } = (await find('rows-locked')) ?? { remedy: '' };
    expect({ severity, seen }).toEqual({ severity: 'error', seen: expect.stringContaining('"orphan"') as string });
    const [rollback = ''] = /ROLLBACK PREPARED [^;]*;/.exec(remedy) ?? [];
    await sql(rollback);
    await service.call('post', `/orders/${order.id}/cancel`, {}).expect(200);
    expect(await find('rows-locked')).toBeUndefined();
  });

  it('names an old primary that came back after a failover, where orders may be written, too', async () => {
    expect(await find('two-primaries')).toBeUndefined();
    await servers.killPrimary();
    await servers.promote();
    await servers.startOldPrimary();
    const { severity, seen } = (await find('two-primaries')) ?? {};
    const hosts = servers.urls.map((url) => new URL(url).host).join(', ');
    expect({ severity, seen }).toEqual({ severity: 'error', seen: expect.stringContaining(hosts) as string });
  });
});

import { ResilientClient } from '../../src/database';
import { type DoctorReport } from '../../src/operations';
import { runJson } from '../support/command-line';
import { connectTo } from '../support/database';
import { until } from '../support/engine';
import { ReplicatedDatabase } from '../support/servers/replicated-database';
import { anOrder, environmentOf, openService, type RunningService } from './running-service';

describe('the service on a database whose synchronous standby is gone', () => {
  let servers: ReplicatedDatabase;
  let service: RunningService;

  beforeAll(async () => {
    servers = await ReplicatedDatabase.open();
    const dataSource = await connectTo(servers.databaseUrl, 2, { Client: ResilientClient });
    service = await openService({}, { url: servers.databaseUrl, dataSource, drop: () => dataSource.destroy() });
  });
  afterAll(async () => {
    await service.close();
    await servers.close();
  });

  const idsOf = (report: DoctorReport): string[] => report.findings.map(({ id }) => id);
  const examine = (): Promise<DoctorReport> =>
    runJson(environmentOf(servers.databaseUrl, 'amqp://127.0.0.1:1'), 'doctor', '--transaction-age', '1s');
  /** They wait without end: each more is one connection less for everybody. */
  const waitingSessions = async (): Promise<number> => {
    const sql = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
    const [row] = await service.database.dataSource.query<{ count: number }[]>(sql);
    return row?.count ?? 0;
  };
  const readiness = async () => (await service.call('get', '/health/ready')).body;

  it('is not ready while a commit waits, and the doctor names the standby and no session to end', async () => {
    const order = anOrder({ lines: [] });
    await service.call('post', '/orders', order).expect(201);
    await servers.killStandby();
    const cancelling = service.call('post', `/orders/${order.id}/cancel`, {}).then(({ status }) => status);
    await until(async () => (await readiness()).database === 'down');
    expect((await service.call('get', '/metrics', undefined, null)).text).toMatch(/^order_timeout_database_up 0$/m);
    const waiting = service.call('post', `/orders/${order.id}/cancel`, {}).then(({ status }) => status);
    const report = await examine();
    expect(report.findings.find(({ id }) => id === 'standby-missing')).toMatchObject({
      severity: 'error',
      seen: expect.stringMatching(
        /^\d+ commits wait .* \(wait_event SyncRep\), .*synchronous_standby_names is "\*"/,
      ) as string,
      remedy: expect.stringContaining('Never end these sessions') as string,
    });
    expect(idsOf(report).filter((id) => /locked|old-transaction/.test(id))).toEqual([]);
    expect(await Promise.all([cancelling, waiting])).toEqual([503, 503]);
    // The commit still waits, although nobody waits for its answer.
    expect((await readiness()).status).toBe('not-ready');
    const sessions = await waitingSessions();
    for (let tries = 0; tries < 3; tries++) {
      const { status, headers } = await service.call('post', '/orders', anOrder({ lines: [] }));
      expect({ status, again: headers['retry-after'] }).toEqual({ status: 503, again: expect.any(String) as string });
    }
    expect(await waitingSessions()).toBe(sessions);

    await servers.rejoin();
    await until(async () => (await readiness()).status === 'ready');
    expect((await service.call('get', `/orders/${order.id}`)).body.status).toBe('CANCELLED');
    expect(idsOf(await examine())).not.toContain('standby-missing');
  });

  it('is told by the doctor that commits do not wait for the standby', async () => {
    expect(idsOf(await examine())).not.toContain('asynchronous-commit');
    await service.database.dataSource.query('ALTER ROLE CURRENT_USER SET synchronous_commit = local');
    const { findings } = await examine();
    await service.database.dataSource.query('ALTER ROLE CURRENT_USER RESET synchronous_commit');
    expect(findings.find(({ id }) => id === 'asynchronous-commit')?.seen).toContain('a failover to the standby loses');
  });
});

import { type DataSource } from 'typeorm';
import { isDatabaseUnavailable, PreparingClient } from '../../src/database';
import { type DoctorReport } from '../../src/operations';
import { runJson } from '../support/command-line';
import { Pgbouncer } from '../support/servers/pgbouncer';
import { connectTo, onServer, serverUrl, urlOf } from '../support/database';
import { until } from '../support/engine';
import { anOrder, openService, type RunningService } from './running-service';

const DATABASE = `ot_pgbouncer_${process.pid}`;
const OTHER = `ot_other_${process.pid}`;
/** What we set for a transaction, or for a session where there is no pooler. */
const SETTINGS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'synchronous_commit'];
const PLANNING = ['plan_cache_mode', 'enable_seqscan', 'jit', 'enable_bitmapscan'];

describe('the service behind PgBouncer, which pools by transaction', () => {
  let bouncer: Pgbouncer;
  let service: RunningService;
  let other: DataSource;
  /** A pool of the pooler that the service does not use. */
  let otherUrl: URL;

  beforeAll(async () => {
    // Not migrated: the service does it, by way of the pooler.
    await onServer(`CREATE DATABASE ${DATABASE}`);
    // pg would read no date. The client's own format must get through the pooler.
    await onServer(`ALTER DATABASE ${DATABASE} SET datestyle = 'German'`);
    await onServer(`CREATE ROLE ${OTHER} LOGIN PASSWORD '${OTHER}'`);
    otherUrl = new URL(urlOf(DATABASE));
    [otherUrl.username, otherUrl.password] = [OTHER, OTHER];
    bouncer = await Pgbouncer.open(serverUrl(), otherUrl.href);
    const url = bouncer.through(urlOf(DATABASE));
    const dataSource = await connectTo(url, 4);
    other = await connectTo(bouncer.through(otherUrl.href), 4);
    const drop = (): Promise<void> => dataSource.destroy();
    service = await openService({ DATABASE_PREPARED_STATEMENTS: 'off' }, { url, dataSource, drop });
  });
  afterAll(async () => {
    await service.close();
    await other.destroy();
    await bouncer.close();
    await onServer(`DROP DATABASE ${DATABASE} WITH (FORCE)`);
    await onServer(`DROP ROLE ${OTHER}`);
  });

  const statusOf = async (id: string): Promise<string> => (await service.call('get', `/orders/${id}`)).body.status;

  it('starts, migrates, places, pays and closes', async () => {
    await service.call('put', '/inventory/apple', { onHand: 100 }).expect(200);
    const [paid, unpaid] = [anOrder(), anOrder({ paymentWindowMs: 1_000 })];
    await service.call('post', '/orders', paid).expect(201);
    await service.call('post', '/orders', unpaid).expect(201);
    const { id: orderId, amount, currency } = paid;
    service.command('order.paid', { orderId, provider: 'p', reference: orderId, amount, currency });
    await until(async () => (await statusOf(paid.id)) === 'PAID');
    await until(async () => (await statusOf(unpaid.id)) === 'CLOSED');
    expect((await service.call('get', '/health/ready')).body).toMatchObject({ status: 'ready', database: 'up' });
    expect(service.parked).toEqual([]);
  });

  it('leaves no setting and no lock behind for the next user of the connection', async () => {
    const names = [...SETTINGS, ...PLANNING];
    const changed = `SELECT name, setting FROM pg_settings WHERE name = ANY ($1) AND source = 'session'`;
    for (const pool of [service.database.dataSource, other]) {
      // At the same time, so that the pooler uses several of its connections.
      const found = await Promise.all(Array.from({ length: 8 }, () => pool.query<unknown[]>(changed, [names])));
      expect(found.flat()).toEqual([]);
    }
    const locks = `SELECT * FROM pg_locks WHERE locktype = 'advisory'
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    expect(await service.database.dataSource.query(locks)).toEqual([]);
  });

  it('is told by the doctor while the service would prepare statements', async () => {
    const found = async (url: string, setting: string): Promise<string[]> => {
      const environment = { DATABASE_URL: url, RABBITMQ_URLS: 'none', DATABASE_PREPARED_STATEMENTS: setting };
      const { findings } = await runJson<DoctorReport>(environment, 'doctor');
      return findings
        .filter(({ id }) => id === 'pooled-session')
        .map(({ severity, remedy }) => `${severity}: ${remedy}`);
    };
    const pooled = bouncer.through(urlOf(DATABASE));
    expect(await found(pooled, 'on')).toEqual([expect.stringMatching(/^error: .*DATABASE_PREPARED_STATEMENTS=off/)]);
    expect(await found(pooled, 'off')).toEqual([]);
    expect(await found(urlOf(DATABASE), 'on')).toEqual([]);
  });

  it('makes prepared statements fail with the setting that is missing, and is no fault of the work', async () => {
    const connectionString = bouncer.through(otherUrl.href);
    const [one, two] = [new PreparingClient({ connectionString }), new PreparingClient({ connectionString })];
    await Promise.all([one.connect(), two.connect()]);
    const ask = (client: PreparingClient): Promise<unknown> => client.query('SELECT $1::text', ['asked']);
    const inTransaction = async (client: PreparingClient): Promise<unknown> => {
      await client.query('START TRANSACTION');
      return ask(client).catch((error: unknown) => error);
    };
    try {
      await ask(one);
      // The first to come gets the session on which the other has prepared the statement.
      const failures = [await inTransaction(two), await inTransaction(one)];
      expect(failures.map(String)).toEqual([
        expect.stringMatching(/already exists.*PgBouncer.*DATABASE_PREPARED_STATEMENTS=off/),
        expect.stringMatching(/does not exist.*PgBouncer.*DATABASE_PREPARED_STATEMENTS=off/),
      ]);
      expect(failures.map(isDatabaseUnavailable)).toEqual([true, true]);
    } finally {
      await Promise.all([one.end(), two.end()]);
    }
  });
});

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DataSource } from 'typeorm';
import { nameOf } from '../../../src/database/migrations';
import { orderTimeoutMigrations } from '../../../src/module';
import { OWNED_OBJECTS } from '../../../src/module/uninstall-tables';
import { loadConfig } from '../../../src/service/config';
import { createService, startService } from '../../../src/service/create-service';
import { runCommand, runJson } from '../../support/command-line';
import { connectTo, createDatabase, onServer, type TestDatabase, urlOf } from '../../support/database';
import { until } from '../../support/engine';
import { findBreaks, readCatalog } from '../../support/schema-catalog';
import { environmentOf, PREFIX } from '../running-service';
import { openSilentService, type SilentService } from './silent-service';
import { stretched } from '../../support/machine-load';

interface Failed {
  readonly code: number;
  readonly error: { readonly code?: string; readonly message: string };
}

interface Swept {
  readonly code: number;
  readonly kinds: readonly { readonly kind: string; readonly overdue: number; readonly outcomes: object }[];
  readonly paused: readonly string[];
}

const RABBIT = 'amqp://unused.invalid';

/** An empty database. */
async function emptyDatabase(): Promise<TestDatabase> {
  const name = `ot_empty_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  await onServer(`CREATE DATABASE ${name}`);
  const dataSource = await connectTo(urlOf(name), 2);
  const drop = async (): Promise<void> => {
    await dataSource.destroy();
    await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
  };
  return { url: urlOf(name), dataSource, drop };
}

describe('order-timeout sweep and purge', () => {
  let service: SilentService;
  const sql = <T>(statement: string): Promise<T> => service.database.dataSource.query(statement);

  beforeAll(async () => {
    service = await openSilentService();
  });
  afterAll(() => service.drop());

  /** As if its deadline had passed while no instance ran. */
  const overdue = async (id: string): Promise<void> => {
    await sql(`UPDATE order_timeout.orders SET expires_at = now() - interval '1 minute' WHERE id = '${id}'`);
    await sql(`UPDATE order_timeout.timeout SET due_at = now(), next_attempt_at = now() WHERE key = '${id}'`);
  };

  it('closes what is overdue, without an instance, and refuses if it would park an order', async () => {
    const [first, second] = [await service.place(), await service.place()];
    await service.stop();
    await overdue(first);
    const dry = await runJson<Swept>(service.environment, 'sweep', '--once', '--dry-run');
    expect(dry).toMatchObject({ code: 0, kinds: [{ kind: 'order.payment', overdue: 1, outcomes: {} }] });
    expect(await service.statusOf(first)).toBe('PENDING');
    const swept = await runJson<Swept>(service.environment, 'sweep', '--once');
    expect(swept).toMatchObject({ code: 0, kinds: [{ kind: 'order.payment', overdue: 1, outcomes: { done: 1 } }] });
    expect(await service.statusOf(first)).toBe('CLOSED');

    await overdue(second);
    await sql(`INSERT INTO order_timeout.payment_attempt (provider, reference, order_id, status, amount, currency)
               VALUES ('shop-provider', 'r-1', '${second}', 'OPEN', 1999, 'EUR')`);
    const refused = await runJson<Failed>(service.environment, 'sweep', '--once');
    expect(refused).toMatchObject({ code: 2, error: { code: 'ORDER_TIMEOUT/COMMAND_REFUSED' } });
    expect(refused.error.message).toContain('shop-provider');
    expect(await service.statusOf(second)).toBe('PENDING');
  });

  it('says what an operator has paused, because that stays overdue', async () => {
    const pause = JSON.stringify({ pause: { by: 'anna', reason: 'maintenance', at: new Date() } });
    await sql(
      `INSERT INTO order_timeout.engine_setting (name, value) VALUES ('control:kind:order.payment', '${pause}')`,
    );
    const swept = await runJson<Swept>(service.environment, 'sweep', '--once', '--dry-run');
    const { out } = await runCommand(service.environment, 'sweep', '--once', '--dry-run');
    await sql(`DELETE FROM order_timeout.engine_setting WHERE name = 'control:kind:order.payment'`);
    expect(swept.paused).toEqual(['kind:order.payment']);
    expect(out).toMatch(/\nkind order\.payment is paused by anna \(maintenance\): .*resume it/);
  });

  it('purges what has passed its retention, and only counts it with --dry-run', async () => {
    const id = 'long-ago';
    await sql(`INSERT INTO order_timeout.orders (id, status, amount, currency, expires_at, fingerprint, created_at, updated_at)
               VALUES ('${id}', 'CLOSED', 1, 'EUR', now(), 'f', now() - interval '9 days', now() - interval '9 days')`);
    const environment = { ...service.environment, RETENTION_FINISHED_ORDERS_MS: String(8 * 86_400_000) };
    const dry = await runJson<object>(environment, 'purge', '--dry-run');
    expect(dry).toMatchObject({ code: 0, dryRun: true, old: { orders: 1 }, purged: { orders: 0 } });
    expect(await service.statusOf(id)).toBe('CLOSED');
    expect(await runJson<object>(environment, 'purge')).toMatchObject({ code: 0, purged: { orders: 1 } });
    expect(await service.statusOf(id)).toBe('absent');
  });
});

describe('order-timeout migrations', () => {
  it('shows what is pending, runs it, and ends with 2 as long as something is pending', async () => {
    const empty = await emptyDatabase();
    const environment = { DATABASE_URL: empty.url };
    const before = await runJson<{ migrations: { state: string }[] }>(environment, 'migrations', 'status');
    expect(before.code).toBe(2);
    expect(new Set(before.migrations.map(({ state }) => state))).toEqual(new Set(['pending']));
    const dry = await runJson<{ migrations: string[] }>(environment, 'migrations', 'run', '--dry-run');
    expect(dry.migrations).toHaveLength(before.migrations.length);
    expect((await runCommand(environment, 'migrations', 'status')).code).toBe(2);
    const ran = await runJson<{ migrations: string[] }>(environment, 'migrations', 'run');
    expect(ran.migrations).toEqual(dry.migrations);
    expect((await runCommand(environment, 'migrations')).code).toBe(0);
    expect((await runCommand(environment, 'migrations', 'run')).out).toBe('Nothing is pending.\n');
    await empty.drop();
  });

  /** All that a schema consists of, and what is recorded about it. */
  async function contentOf({ dataSource }: Pick<TestDatabase, 'dataSource'>): Promise<object> {
    const { objects, columns, limits } = await readCatalog(dataSource, 'order_timeout');
    const names = 'SELECT name FROM order_timeout.order_timeout_migrations ORDER BY id';
    const compatible =
      'SELECT name, compatible_since FROM order_timeout.order_timeout_compatible_migrations ORDER BY name';
    const options = `SELECT relname, reloptions FROM pg_class WHERE relnamespace = 'order_timeout'::regnamespace ORDER BY 1`;
    const indexes = `SELECT indexdef FROM pg_indexes WHERE schemaname = 'order_timeout' ORDER BY 1`;
    return {
      catalog: [objects, columns, limits].map((part) => [...part].sort(([a], [b]) => (a < b ? -1 : 1))),
      records: [await dataSource.query(names), await dataSource.query(compatible)] as unknown[],
      storage: [await dataSource.query(options), await dataSource.query(indexes)] as unknown[],
    };
  }

  /** Each statement alone, in the transactions that the script begins. */
  async function runAsPsql({ dataSource }: Pick<TestDatabase, 'dataSource'>, script: string): Promise<void> {
    const [alone, transaction] = ['[^;]+;', 'BEGIN;[^]*?\\nCOMMIT;'];
    const parts = script.replace(/^--.*$/gm, '').match(new RegExp(`${transaction}|${alone}`, 'g')) ?? [];
    for (const part of parts) await dataSource.query(part);
  }

  it('prints SQL that leaves the same as running them, without a database', async () => {
    const [printed, migrated] = [await emptyDatabase(), await createDatabase()];
    const { code, out } = await runCommand({}, 'migrations', '--sql');
    expect(code).toBe(0);
    await printed.dataSource.query(out);
    expect(findBreaks(await readCatalog(migrated.dataSource, 'order_timeout'), await readCatalog(printed.dataSource, 'order_timeout'))).toEqual([]); // prettier-ignore
    expect(await contentOf(printed)).toEqual(await contentOf(migrated));
    expect((await runCommand({ DATABASE_URL: printed.url }, 'migrations', '--sql')).out).toBe('');
    await printed.drop();
    await migrated.drop();
  });

  it('prints only what is pending, for an older database', async () => {
    const [older, migrated] = [await emptyDatabase(), await createDatabase()];
    const { out: all } = await runCommand({}, 'migrations', '--sql');
    const begin = all.slice(0, all.indexOf('-- AddOutboxAge1765300001100'));
    await older.dataSource.query(`${begin}COMMIT;`);
    const environment = { DATABASE_URL: older.url };
    const { out } = await runCommand(environment, 'migrations', '--sql');
    const names = orderTimeoutMigrations('order_timeout').map(nameOf);
    expect([...out.matchAll(/^-- (\w+)$/gm)].map(([, name]) => name)).toEqual(
      names.slice(names.indexOf('AddOutboxAge1765300001100')),
    );
    expect(out).not.toContain('CREATE SCHEMA');
    await runAsPsql(older, out);
    expect(await contentOf(older)).toEqual(await contentOf(migrated));
    await older.drop();
    await migrated.drop();
  });

  it('prints indexes of tables in use so that others can write meanwhile, and again if one is unfinished', async () => {
    const database = await createDatabase();
    const name = 'IndexOrders1765500001700';
    const [table, index] = ['order_timeout_compatible_migrations', 'orders_created'];
    await database.dataSource.query(`DELETE FROM order_timeout.${table} WHERE name = '${name}'`);
    // What a process leaves that dies while it builds an index.
    await database.dataSource.query(
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'order_timeout.${index}'::regclass`,
    );
    const { out } = await runCommand({ DATABASE_URL: database.url }, 'migrations', '--sql');
    expect(out.split('BEGIN;')[0]?.match(/^(DROP|CREATE) INDEX CONCURRENTLY.*$/gm)).toHaveLength(2);
    await runAsPsql(database, out);
    const valid: unknown = await database.dataSource.query(
      `SELECT indisvalid FROM pg_index WHERE indexrelid = 'order_timeout.${index}'::regclass`,
    );
    expect(valid).toEqual([{ indisvalid: true }]);
    expect((await runCommand({ DATABASE_URL: database.url }, 'migrations')).code).toBe(0);
    await database.drop();
  });

  it('prints SQL that gives up a table that somebody reads, for whose end requests would wait, too', async () => {
    const database = await createDatabase();
    await database.dataSource.query(
      `DELETE FROM order_timeout.order_timeout_compatible_migrations WHERE name LIKE 'IdentifyHandledPayments%'`,
    );
    const { out } = await runCommand({ DATABASE_URL: database.url }, 'migrations', '--sql');
    const reader = database.dataSource.createQueryRunner();
    await reader.startTransaction();
    await reader.query('SELECT FROM order_timeout.handled_payment');
    await expect(runAsPsql(database, out)).rejects.toMatchObject({ code: '55P03' });
    await reader.rollbackTransaction();
    await reader.release();
    await runAsPsql(database, (await runCommand({ DATABASE_URL: database.url }, 'migrations', '--sql')).out);
    expect((await runCommand({ DATABASE_URL: database.url }, 'migrations')).code).toBe(0);
    await database.drop();
  });

  it.each([[['run', '--sql']], [['--sql', 'run']], [['status', '--sql']]])(
    'refuses %j, and runs nothing',
    async (args) => {
      const empty = await emptyDatabase();
      const refused = await runJson<Failed>({ DATABASE_URL: empty.url }, 'migrations', ...args);
      expect(refused).toMatchObject({ code: 2, error: { code: 'ORDER_TIMEOUT/COMMAND_REFUSED' } });
      expect(refused.error.message).toContain('order-timeout migrations --sql');
      expect(await empty.dataSource.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'order_timeout'`)).toEqual([]);
      await empty.drop();
    },
  );

  it('leaves the database alone while it prints', async () => {
    const empty = await emptyDatabase();
    await runCommand({ DATABASE_URL: empty.url }, 'migrations', '--sql');
    expect(await empty.dataSource.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'order_timeout'`)).toEqual([]);
    await empty.drop();
  });
});

describe('order-timeout grants', () => {
  const users = (['owner', 'service', 'reporting'] as const).map((role) => [
    role,
    `${role}_${randomUUID().slice(0, 8)}`,
  ]);
  const [owner = '', service = '', reporting = ''] = users.map(([, name]) => name);
  let database: TestDatabase;

  const urlAs = (user: string): string => {
    const url = new URL(database.url);
    [url.username, url.password] = [user, 'word'];
    return url.href;
  };
  const grants = async (...args: string[]): Promise<string> => (await runCommand({}, 'grants', ...args)).out;
  async function as<T>(user: string, work: (dataSource: DataSource) => Promise<T>): Promise<T> {
    const dataSource = await new DataSource({ type: 'postgres', url: urlAs(user) }).initialize();
    return work(dataSource).finally(() => dataSource.destroy());
  }

  beforeAll(async () => {
    database = await emptyDatabase();
    for (const [, name] of users) await database.dataSource.query(`CREATE ROLE "${name}" LOGIN PASSWORD 'word'`);
    await database.dataSource.query(await grants('--role', 'owner', '--to', owner));
    const { code, err } = await runCommand({ DATABASE_URL: urlAs(owner) }, 'migrations', 'run');
    expect([code, err]).toEqual([0, '']);
    await as(owner, async (dataSource) => {
      await dataSource.query('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA order_timeout FROM PUBLIC');
      await dataSource.query(await grants('--role', 'service', '--to', service, '--owner', owner));
      await dataSource.query(await grants('--role', 'reporting', '--to', reporting, '--owner', owner));
    });
  });

  afterAll(async () => {
    for (const [, name] of users) await database.dataSource.query(`DROP OWNED BY "${name}"`);
    for (const [, name] of users) await database.dataSource.query(`DROP ROLE "${name}"`);
    await database.drop();
  });

  it('let the service run: it places, closes, and purges', async () => {
    const other = await openSilentService();
    const environment = { ...environmentOf(urlAs(service), other.vhost.url), RABBITMQ_PREFIX: 'granted.v1' };
    const app = await createService(loadConfig(environment));
    await startService(app, { port: 0, host: '127.0.0.1', apiKeys: [], operatorKeys: [] });
    const base = await app.getUrl();
    const headers = { 'content-type': 'application/json', 'x-api-key': 'key-of-everything', connection: 'close' };
    const order = { id: 'g-1', amount: 1, currency: 'EUR', paymentWindowMs: 1_000, lines: [] };
    const placed = await fetch(`${base}/orders`, { method: 'POST', headers, body: JSON.stringify(order) });
    expect(placed.status).toBe(201);
    const status = async (): Promise<unknown> =>
      ((await (await fetch(`${base}/orders/g-1`, { headers })).json()) as { status: string }).status;
    await until(async () => (await status()) === 'CLOSED');
    await app.close();
    expect((await runCommand(environment, 'purge')).code).toBe(0);
    await other.drop();
  });

  it.each([
    ['the service cannot change tables', 'service', 'ALTER TABLE order_timeout.orders ADD COLUMN more int'],
    ['the service cannot create tables', 'service', 'CREATE TABLE order_timeout.more (id int)'],
    ['the service cannot forge migrations', 'service', 'DELETE FROM order_timeout.order_timeout_migrations'],
    ['reporting cannot write', 'reporting', `UPDATE order_timeout.orders SET status = 'PAID'`],
    ['reporting cannot take numbers', 'reporting', `SELECT nextval('order_timeout.timeout_generation')`],
  ])('%s', async (_, role, statement) => {
    const user = role === 'service' ? service : reporting;
    await expect(as(user, (dataSource) => dataSource.query(statement))).rejects.toMatchObject({
      message: expect.stringMatching(/permission denied|must be owner/) as string,
    });
  });

  it('let reporting read, also tables of later migrations', async () => {
    await as(owner, (dataSource) => dataSource.query('CREATE TABLE order_timeout.later (id int)'));
    for (const table of ['orders', 'order_history', 'unmatched_payment', 'later']) {
      expect(
        await as(reporting, (dataSource) => dataSource.query(`SELECT * FROM order_timeout.${table} LIMIT 0`)),
      ).toEqual([]);
    }
    await as(owner, (dataSource) => dataSource.query('DROP TABLE order_timeout.later'));
  });

  it('quotes names, and wants a known role', async () => {
    expect(await grants('--role', 'reporting', '--to', 'a"b; DROP')).toContain('TO "a""b; DROP";');
    expect((await runCommand({}, 'grants', '--role', 'king', '--to', 'x')).code).toBe(2);
  });
});

describe('order-timeout uninstall', () => {
  let service: SilentService;

  beforeAll(async () => {
    service = await openSilentService();
  });
  afterAll(() => service.drop());

  const uninstall = (...args: string[]) => runJson<Failed & { tables: object[]; queues: string[] }>(service.environment, 'uninstall', ...args); // prettier-ignore
  const relations = (): Promise<unknown[]> =>
    service.database.dataSource.query(
      `SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('order_timeout')`,
    );
  async function onBroker(): Promise<string[]> {
    const listed: { name: string }[] = [];
    for (const type of ['queues', 'exchanges']) {
      listed.push(...(await service.vhost.manage<{ name: string }[]>('GET', `/${type}/${service.vhost.name}`)));
    }
    return listed.map(({ name }) => name).filter((name) => name.startsWith(PREFIX));
  }

  it('removes everything, but neither by accident nor with open work', async () => {
    const id = await service.place();
    expect((await uninstall('--yes')).error.message).toMatch(/consumers of running instances/);
    await service.stop();
    expect((await uninstall('--yes')).error.message).toMatch(/2 pending or parked timeouts/);
    await service.database.dataSource.query(`DELETE FROM order_timeout.timeout`);
    await service.database.dataSource.query(`DELETE FROM order_timeout.outbox`);
    expect((await uninstall()).error.message).toContain('--dry-run first, then give --yes');

    const dry = await uninstall('--dry-run');
    expect(dry.code).toBe(0);
    expect(dry.tables).toContainEqual({ kind: 'table', name: 'orders' });
    expect(dry.queues).toContain(`${PREFIX}.work.order.payment`);
    expect(await service.statusOf(id)).toBe('PENDING');
    expect((await onBroker()).length).toBeGreaterThan(20);

    expect((await uninstall('--yes')).code).toBe(0);
    expect(await relations()).toEqual([]);
    expect(await onBroker()).toEqual([]);
    expect((await uninstall('--yes')).code).toBe(0);
  });

  it('knows every object that the migrations leave', async () => {
    const database = await createDatabase();
    const found = await runJson<{ tables: { kind: string; name: string }[]; others: object[] }>(
      { DATABASE_URL: database.url, RABBITMQ_URLS: RABBIT },
      'uninstall',
      ...['--only', 'database', '--dry-run'],
    );
    const expected = Object.entries(OWNED_OBJECTS).flatMap(([kind, names]) => names.map((name) => `${kind} ${name}`));
    expect(found.tables.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual(expected.sort());
    expect(found.others).toEqual([]);
    await database.drop();
  });

  it('leaves tables of others, and the schema with them', async () => {
    const database = await createDatabase();
    const environment = { DATABASE_URL: database.url };
    await database.dataSource.query('CREATE TABLE order_timeout.basket (id serial)');
    const { code, out } = await runCommand(environment, 'uninstall', '--only', 'database', '--yes');
    expect(code).toBe(0);
    expect(out).toContain('objects of others: table basket');
    expect(await database.dataSource.query('SELECT * FROM order_timeout.basket')).toEqual([]);
    await database.drop();
  });

  it('drops nothing if an object of others depends on a table', async () => {
    const database = await createDatabase();
    await database.dataSource.query('CREATE VIEW public.report AS SELECT id FROM order_timeout.orders');
    const { code, err } = await runCommand({ DATABASE_URL: database.url }, 'uninstall', '--only', 'database', '--yes');
    expect(code).toBe(2);
    expect(err).toContain('other objects depend on');
    expect(await database.dataSource.query('SELECT * FROM order_timeout.outbox')).toEqual([]);
    await database.drop();
  });
});

describe('the program', () => {
  const root = join(__dirname, '../../..');
  const compile = join(root, 'test/support/compile-on-require.js');

  /** Runs src/cli/main.ts in a process of its own, until it ends by itself. */
  async function run(environment: Record<string, string>, ...args: string[]): Promise<{ code: unknown; out: string }> {
    const all = ['-r', compile, join(root, 'src/cli/main.ts'), ...args];
    const env = { PATH: process.env.PATH, ...environment };
    return promisify(execFile)(process.execPath, all, { cwd: root, env, timeout: stretched(60_000) }).then(
      ({ stdout }) => ({ code: 0, out: stdout }),
      ({ code, stdout }: { code: unknown; stdout: string }) => ({ code, out: stdout }),
    );
  }

  it('ends by itself, with the exit code of the command', async () => {
    const database = await createDatabase();
    const listed = await run({ DATABASE_URL: database.url }, 'orders', 'list', '--json');
    expect(listed).toEqual({ code: 0, out: '[]\n' });
    expect((await run({}, 'orders', 'list')).code).toBe(2);
    await database.drop();
  });

  it('ends at once if the service could not start either', async () => {
    const database = await createDatabase();
    const others = (): Promise<unknown[]> =>
      database.dataSource.query(`SELECT pid FROM pg_stat_activity WHERE datname = current_database()
        AND application_name LIKE 'nestjs-order-timeout%'`);
    const before = await others();
    const environment = { DATABASE_URL: database.url, DATABASE_SCHEMA: 'elsewhere', RABBITMQ_URLS: RABBIT };
    expect((await runCommand(environment, 'orders', 'list')).code).toBe(2);
    // A pool that is left open ends its connections after 10 s, and only then the process ends.
    await until(async () => (await others()).length === before.length, 2_000);
    expect(before).toEqual([]);
    await database.drop();
  });

  it('is what package.json names, and lists its commands', async () => {
    const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { bin: Record<string, string> };
    const file = readFileSync(join(root, bin['order-timeout'] ?? ''), 'utf8');
    expect(file).toMatch(/^#!\/usr\/bin\/env node\n[^]*dist\/cli\/main\.js/);
    const { code, out } = await runCommand({}, '--help');
    expect(code).toBe(0);
    const commands = [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
    const migrating = ['migrations', 'grants', 'uninstall'];
    const operating = ['doctor', 'orders', 'timeouts', 'parked', 'sweep', 'republish', 'purge'];
    expect(commands).toEqual(expect.arrayContaining([...operating, ...migrating]));
  });
});

import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { type DoctorReport } from '../../../src/operations';
import { OWN_TABLES } from '../../../src/operations/doctor/schema-examination';
import { runJson } from '../../support/command-line';
import { createDatabase, onServer, type TestDatabase, urlOf } from '../../support/database';
import { until } from '../../support/until';
import { environmentOf } from '../running-service';

describe('the doctor finds, of the database server,', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  /** Without a broker. */
  const examine = (url: string, env: Readonly<Record<string, string>> = {}): Promise<DoctorReport> =>
    runJson<DoctorReport>({ ...environmentOf(url, 'amqp://127.0.0.1:1'), ...env }, 'doctor');
  const urlAs = (user: string, password: string): string => {
    const url = new URL(database.url);
    [url.username, url.password] = [user, password];
    return url.href;
  };
  /** One statement after the other. */
  const inSession = async (url: string, ...statements: readonly string[]): Promise<void> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  const find = (id: string, { findings }: DoctorReport) => findings.find((one) => one.id === id);

  it('13. a refused login, and no connection left', async () => {
    const user = `refused_${randomUUID().slice(0, 8)}`;
    await onServer(`CREATE ROLE ${user} LOGIN PASSWORD 'right' CONNECTION LIMIT 0`);
    const wrong = find('database-login-refused', await examine(urlAs(user, 'wrong')));
    const none = find('database-login-refused', await examine(urlOf('nothing')));
    const full = find('database-connections', await examine(urlAs(user, 'right')));
    const plain = find('database-unreachable', await examine(`${database.url}?sslmode=require`));
    await onServer(`DROP ROLE ${user}`);
    expect(wrong?.seen).toContain(user);
    expect(wrong?.remedy).toContain('Correct the user or password in DATABASE_URL');
    expect(none?.remedy).toContain('Correct the name of the database in DATABASE_URL');
    expect(full?.seen).toContain('too many connections');
    expect(full?.remedy).toContain('DATABASE_POOL_SIZE');
    expect(plain?.remedy).toContain('`sslmode` and `sslrootcert` of DATABASE_URL');
  });

  it('13. a user who may not log in, and a database that takes no sessions, and tells what ends that', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const user = `kept_out_${randomUUID().slice(0, 8)}`;
    await onServer(`CREATE ROLE ${user} PASSWORD 'right'`);
    const shut = find('database-login-refused', await examine(urlAs(user, 'right')));
    await onServer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    const closed = find('database-unreachable', await examine(database.url));
    const [statement = ''] = /ALTER DATABASE [^;]*;/.exec(closed?.remedy ?? '') ?? [];
    await onServer(statement || `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    const open = await examine(database.url);
    await onServer(`DROP ROLE ${user}`);
    expect(shut?.remedy).toContain('ALTER ROLE … LOGIN');
    expect(shut?.remedy).not.toContain('Correct');
    expect(statement).toContain(name);
    expect(find('database-unreachable', open)).toBeUndefined();
  });

  it('13. a user who must not connect to the database, and tells the right', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const user = `outside_${randomUUID().slice(0, 8)}`;
    await onServer(`CREATE ROLE ${user} LOGIN PASSWORD 'right'`);
    await onServer(`REVOKE CONNECT ON DATABASE ${name} FROM public`);
    const found = find('database-login-refused', await examine(urlAs(user, 'right')));
    await onServer(`GRANT CONNECT ON DATABASE ${name} TO public`);
    await onServer(`DROP ROLE ${user}`);
    expect(found?.seen).toContain('permission denied');
    expect(found?.remedy).toContain(`GRANT CONNECT ON DATABASE "${name}" TO`);
  });

  it('29. a trigger of somebody else that lacks the partition of this month, also at its commit', async () => {
    await inSession(
      database.url,
      'CREATE TABLE public.audit (at timestamptz) PARTITION BY RANGE (at)',
      `CREATE FUNCTION public.write_audit() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO public.audit VALUES (now()); RETURN NULL; END $$`,
      `CREATE CONSTRAINT TRIGGER audit AFTER UPDATE ON order_timeout.orders DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.write_audit()`,
    );
    const broken = await examine(database.url);
    await inSession(database.url, 'CREATE TABLE public.audit_rest PARTITION OF public.audit DEFAULT');
    const whole = await examine(database.url);
    await inSession(database.url, 'DROP FUNCTION public.write_audit CASCADE', 'DROP TABLE public.audit');
    expect(find('database-refuses-writes', broken)?.seen).toContain('o partition of relation "audit" found');
    expect(find('database-refuses-writes', whole)).toBeUndefined();
  });

  it.each([
    ['order_line', 'INSERT'],
    ['order_history', 'INSERT'],
    ['payment_attempt', 'INSERT'],
    ['orders', `UPDATE OF status ON order_timeout.orders FOR EACH ROW WHEN (NEW.status = 'PAID')`],
  ])('29. a trigger of %s that copies our rows to a table which lacks a column of ours', async (table, event) => {
    const when = event.includes(' ON ') ? event : `${event} ON order_timeout.${table} FOR EACH ROW`;
    await inSession(
      database.url,
      'CREATE TABLE public.copy (at timestamptz)',
      `CREATE FUNCTION public.write_copy() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO public.copy SELECT now(), NEW.*; RETURN NULL; END $$`,
      `CREATE TRIGGER copy AFTER ${when} EXECUTE FUNCTION public.write_copy()`,
    );
    const broken = await examine(database.url);
    await inSession(database.url, 'DROP FUNCTION public.write_copy CASCADE', 'DROP TABLE public.copy');
    expect(find('database-refuses-writes', broken)?.seen).toContain('INSERT has more expressions than target columns');
  });

  it('nothing in a constraint of the shop that its newest order satisfies, and says if it could not write one', async () => {
    await database.dataSource.query(
      `INSERT INTO order_timeout.orders (id, merchant_id, amount, currency, expires_at, fingerprint)
       VALUES ('SHOP-1', 'books', 500, 'USD', now(), '')`,
    );
    const constraint = (rule: string) =>
      database.dataSource.query(`ALTER TABLE order_timeout.orders ADD CONSTRAINT shops ${rule}`);
    const remove = () => database.dataSource.query('ALTER TABLE order_timeout.orders DROP CONSTRAINT shops');
    await constraint(`CHECK (merchant_id = 'books' AND amount >= 500 AND currency = 'USD')`);
    const content = await examine(database.url);
    await remove();
    await constraint(`CHECK (id LIKE 'SHOP-%')`);
    const unable = await examine(database.url);
    await remove();
    await inSession(
      database.url,
      `CREATE TABLE public.shipping (order_id text CHECK (order_id LIKE 'SHOP-%'))`,
      `CREATE FUNCTION public.ship() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO public.shipping VALUES (NEW.id); RETURN NULL; END $$`,
      `CREATE TRIGGER ship AFTER UPDATE OF status ON order_timeout.orders FOR EACH ROW EXECUTE FUNCTION public.ship()`,
    );
    const mirrored = await examine(database.url);
    await inSession(database.url, 'DROP FUNCTION public.ship CASCADE', 'DROP TABLE public.shipping');
    await database.dataSource.query(`DELETE FROM order_timeout.orders WHERE id = 'SHOP-1'`);
    for (const report of [content, unable, mirrored]) expect(find('database-refuses-writes', report)).toBeUndefined();
    const skipped = ({ unchecked }: DoctorReport): string[] => unchecked.map(({ what }) => what);
    expect(skipped(content)).not.toContain('an order like the newest');
    for (const report of [unable, mirrored]) expect(skipped(report)).toContain('an order like the newest');
  });

  it('28. a schema that is gone, without telling to run an empty one', async () => {
    const { findings } = await examine(database.url, { DATABASE_SCHEMA: 'elsewhere' });
    const found = findings.map(({ id }) => id);
    expect(found).toContain('schema-missing');
    expect(found).not.toContain('migrations-pending');
  });

  /** Of a user who has all rights in our schema. */
  const withRights = async (work: (user: string, url: string) => Promise<void>): Promise<void> => {
    const user = `starter_${randomUUID().slice(0, 8)}`;
    await onServer(`CREATE ROLE ${user} LOGIN PASSWORD 'right'`);
    for (const what of ['ALL TABLES', 'ALL SEQUENCES'])
      await database.dataSource.query(`GRANT ALL ON ${what} IN SCHEMA order_timeout TO ${user}`);
    await database.dataSource.query(`GRANT USAGE ON SCHEMA order_timeout TO ${user}`);
    await work(user, urlAs(user, 'right'));
    await database.dataSource.query(`DROP OWNED BY ${user}`);
    await onServer(`DROP ROLE ${user}`);
  };

  it('4. that the record of migrations cannot be read, as each start does', () =>
    withRights(async (user, url) => {
      await database.dataSource.query(`REVOKE SELECT ON order_timeout.order_timeout_migrations FROM ${user}`);
      const found = find('database-rights', await examine(url));
      expect(found?.seen).toContain(' lacks SELECT on order_timeout_migrations in schema');
    }));

  it('4. a function that may not be executed, and tells what ends that', () =>
    withRights(async (user, url) => {
      const { dataSource } = database;
      await dataSource.query('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA order_timeout FROM PUBLIC');
      const found = find('database-rights', await examine(url));
      expect(found?.seen).toContain(`${user} lacks EXECUTE on payment_name in schema`);
      await dataSource.query(found?.remedy.replace('Run as the owner of the tables: ', '') ?? '');
      expect(find('database-rights', await examine(url))).toBeUndefined();
      await dataSource.query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA order_timeout TO PUBLIC');
    }));

  it('4. row-level security, which hides rows, and tells what ends that', () =>
    withRights(async (user, url) => {
      await database.dataSource.query('ALTER TABLE order_timeout.orders ENABLE ROW LEVEL SECURITY');
      const found = find('row-level-security', await examine(url));
      expect(found?.seen).toContain(`hides rows of orders from ${user}`);
      const [statement = ''] = /ALTER TABLE [^;]*;/.exec(found?.remedy ?? '') ?? [];
      await database.dataSource.query(statement);
      expect(find('row-level-security', await examine(url))).toBeUndefined();
    }));

  it('7. what an operator has paused, with who and why', async () => {
    const pause = JSON.stringify({ pause: { by: 'anna', reason: 'maintenance', at: new Date() } });
    const name = 'control:kind:order.payment';
    await database.dataSource.query('INSERT INTO order_timeout.engine_setting (name, value) VALUES ($1, $2)', [
      name,
      pause,
    ]);
    const found = find('paused', await examine(database.url));
    await database.dataSource.query('DELETE FROM order_timeout.engine_setting WHERE name = $1', [name]);
    expect(found?.seen).toMatch(/^Kind order.payment is paused by anna since .*: maintenance\.$/);
  });

  it('4. rights without those of the tables that only the owner writes', async () => {
    const user = `service_${randomUUID().slice(0, 8)}`;
    await onServer(`CREATE ROLE ${user} LOGIN PASSWORD 'right'`);
    const found = find('database-rights', await examine(urlAs(user, 'right')));
    await onServer(`DROP ROLE ${user}`);
    expect(found?.remedy).toContain('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES');
    expect(found?.remedy).toContain(
      `REVOKE INSERT, UPDATE, DELETE ON order_timeout.order_timeout_migrations FROM ${user}`,
    );
  });

  it('22. that it takes no writes, and tells the statement that ends that', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const user = `writer_${randomUUID().slice(0, 8)}`;
    const url = urlAs(user, 'writer');
    await onServer(`CREATE ROLE ${user} SUPERUSER LOGIN PASSWORD 'writer'`);
    const statements: string[] = [];
    for (const which of [`DATABASE ${name}`, `ROLE ${user}`, `ROLE ${user} IN DATABASE ${name}`]) {
      await onServer(`ALTER ${which} SET default_transaction_read_only = on`);
      const found = find('database-read-only', await examine(url));
      expect(found?.seen).toContain('default_transaction_read_only');
      const [, first = '', second = ''] = /(SET [^;]*;) (ALTER [^;]*;)/.exec(found?.remedy ?? '') ?? [];
      statements.push(second);
      await inSession(url, first, second);
      expect(find('database-read-only', await examine(url))).toBeUndefined();
    }
    await onServer(`DROP ROLE ${user}`);
    expect(new Set(statements).size).toBe(3);
    const own = await examine(`${database.url}?options=-c%20default_transaction_read_only%3Don`);
    expect(find('database-read-only', own)?.remedy).toContain('take it out of DATABASE_URL');
  });

  it('22. a session that keeps others from writing, and tells how to end it', async () => {
    const runner = database.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('LOCK TABLE order_timeout.order_history IN SHARE MODE');
    const found = find('table-locked', await examine(database.url));
    expect(found?.seen).toContain('a ShareLock on order_timeout.order_history');
    const [statement = ''] = /SELECT pg_terminate_backend[^;]*;/.exec(found?.remedy ?? '') ?? [];
    await onServer(statement);
    await runner.release();
    expect(find('table-locked', await examine(database.url))).toBeUndefined();
  });

  it('22. a session that keeps a table of the shop to which a trigger of ours writes', async () => {
    await inSession(
      database.url,
      'CREATE TABLE public.log (id text)',
      `CREATE FUNCTION public.write_log() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO public.log VALUES (NEW.id); RETURN NULL; END $$`,
      `CREATE TRIGGER log AFTER INSERT ON order_timeout.orders FOR EACH ROW EXECUTE FUNCTION public.write_log()`,
    );
    const runner = database.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('LOCK TABLE public.log');
    const [{ pid } = { pid: 0 }] = (await runner.query('SELECT pg_backend_pid() AS pid')) as { pid: number }[];
    const held = await examine(database.url);
    await runner.query('LOCK TABLE order_timeout.engine_setting, order_timeout.outbox');
    const tables = await examine(database.url);
    await runner.rollbackTransaction();
    await runner.release();
    await inSession(database.url, 'DROP FUNCTION public.write_log CASCADE', 'DROP TABLE public.log');
    expect(find('rows-locked', held)?.seen).toContain(`(pid ${pid},`);
    expect(tables.findings.filter(({ id }) => id === 'table-locked').map(({ seen }) => seen.split(',')[0])).toEqual([
      'A session holds an AccessExclusiveLock on order_timeout.engine_setting',
      'A session holds an AccessExclusiveLock on order_timeout.outbox',
    ]);
  });

  it('22. a session whose rows others wait for, once, and none of those that wait', async () => {
    await database.dataSource.query(`INSERT INTO order_timeout.engine_setting (name, value) VALUES ('held', '1')`);
    const sessions = ['psql', 'shop', 'nestjs-order-timeout'].map(
      (application_name) => new Client({ connectionString: database.url, application_name }),
    );
    const [holder, ...waiting] = await Promise.all(sessions.map((one) => one.connect().then(() => one)));
    holder?.on('error', () => undefined);
    await holder?.query(`BEGIN; SELECT FROM order_timeout.engine_setting WHERE name = 'held' FOR UPDATE`);
    // The second one waits for the first one, which waits for the holder.
    const update = `UPDATE order_timeout.engine_setting SET value = value WHERE name = 'held'`;
    const updates = waiting.map((one) => one.query(update));
    const report = await examine(database.url);
    const found = report.findings.filter(({ id }) => id === 'rows-locked');
    const [statement = ''] = /SELECT pg_terminate_backend[^;]*;/.exec(found[0]?.remedy ?? '') ?? [];
    await onServer(statement || 'SELECT');
    const isEnded = await holder?.query('SELECT').then(
      () => false,
      () => true,
    );
    await Promise.all([holder?.end(), ...updates]);
    await Promise.all(waiting.map((one) => one.end()));
    expect(found.map(({ seen }) => seen)).toEqual([
      expect.stringMatching(
        /^A session holds rows, for which others wait \(pid \d+, .* application "psql", idle in transaction for \d+ s\)/,
      ),
    ]);
    expect(isEnded).toBe(true);
    expect(find('table-locked', report)).toBeUndefined();
    expect(find('rows-locked', await examine(database.url))).toBeUndefined();
  });

  it('22. nobody who keeps only an index from being built, such as a backup', async () => {
    const [backup, builder] = [database.url, database.url].map((connectionString) => new Client({ connectionString }));
    await Promise.all([backup?.connect(), builder?.connect()]);
    await backup?.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM order_timeout.orders');
    const building = builder?.query('CREATE INDEX CONCURRENTLY beside ON order_timeout.orders (paid_at)');
    const waits = `SELECT FROM pg_locks WHERE locktype = 'virtualxid' AND NOT granted`;
    await until(async () => (await database.dataSource.query<unknown[]>(waits)).length > 0);
    expect(find('rows-locked', await examine(database.url))).toBeUndefined();
    await backup?.end();
    await building;
    await builder?.query('DROP INDEX order_timeout.beside');
    await builder?.end();
  });

  it('22. no sessions that take turns with a row, nor one that locks such a table of another database', async () => {
    const other = await createDatabase();
    const elsewhere = other.dataSource.createQueryRunner();
    await elsewhere.startTransaction();
    await elsewhere.query('LOCK TABLE order_timeout.orders');
    const turns = new AbortController();
    const taking = Array.from({ length: 3 }, async () => {
      while (!turns.signal.aborted)
        await database.dataSource.query(
          `WITH held AS MATERIALIZED (SELECT FROM order_timeout.engine_setting WHERE name = 'held' FOR UPDATE)
           SELECT pg_sleep(0.1) FROM held`,
        );
    });
    const report = await examine(database.url);
    turns.abort();
    await Promise.all(taking);
    await elsewhere.rollbackTransaction();
    await elsewhere.release();
    await other.drop();
    expect(report.findings.filter(({ id }) => id.endsWith('-locked'))).toEqual([]);
  });

  it('22. a session that locks what the doctor itself reads, and reports all the same', async () => {
    const runner = database.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('LOCK TABLE order_timeout.timeout, order_timeout.engine_setting IN ACCESS EXCLUSIVE MODE');
    // Otherwise each statement would wait for seconds.
    const report = await examine(`${database.url}?options=-c%20lock_timeout%3D100ms`);
    await runner.rollbackTransaction();
    await runner.release();
    expect(find('table-locked', report)?.seen).toContain('an AccessExclusiveLock on order_timeout.');
    expect(find('broker-unreachable', report)).toBeDefined();
  });

  it('22. limits of its user that are too low, for statements and for connections', async () => {
    const user = `limited_${randomUUID().slice(0, 8)}`;
    await onServer(`CREATE ROLE ${user} LOGIN PASSWORD 'right' CONNECTION LIMIT 5`);
    await onServer(`ALTER ROLE ${user} SET statement_timeout = '900ms'`);
    const report = await examine(urlAs(user, 'right'));
    const [statement = ''] = /ALTER ROLE [^;]*;/.exec(find('statement-limit', report)?.remedy ?? '') ?? [];
    await onServer(statement);
    const after = await examine(urlAs(user, 'right'));
    await onServer(`DROP ROLE ${user}`);
    expect(find('pool-too-large', report)?.remedy).toContain(`the CONNECTION LIMIT of the user ${user}`);
    expect(find('statement-limit', report)?.seen).toContain('statement_timeout is 900ms');
    expect(find('statement-limit', after)).toBeUndefined();
  });

  it('22. where a limit is set that is too low, and tells what ends that', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const user = `limited_${randomUUID().slice(0, 8)}`;
    const url = urlAs(user, 'right');
    await onServer(`CREATE ROLE ${user} LOGIN PASSWORD 'right'`);
    for (const which of [`DATABASE ${name}`, `ROLE ${user}`, `ROLE ${user} IN DATABASE ${name}`]) {
      await onServer(`ALTER ${which} SET statement_timeout = '900ms'`);
      const found = find('statement-limit', await examine(url));
      expect(found?.remedy).toContain('restart the service');
      const [statement = ''] = /ALTER [^;]*;/.exec(found?.remedy ?? '') ?? [];
      await onServer(statement);
      expect(find('statement-limit', await examine(url))).toBeUndefined();
    }
    await onServer(`ALTER DATABASE ${name} RESET statement_timeout`);
    await onServer(`DROP ROLE ${user}`);
    const own = await examine(`${database.url}?options=-c%20statement_timeout%3D900`);
    expect(find('statement-limit', own)?.remedy).toContain('ake it out of DATABASE_URL');
  });

  it('22. that commits do not wait for the disk, and tells what ends that', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const user = `hasty_${randomUUID().slice(0, 8)}`;
    await onServer(`CREATE ROLE ${user} LOGIN PASSWORD 'right'`);
    for (const which of [`DATABASE ${name}`, `ROLE ${user} IN DATABASE ${name}`]) {
      await onServer(`ALTER ${which} SET synchronous_commit = off`);
      const found = find('asynchronous-commit', await examine(urlAs(user, 'right')));
      expect(found?.seen).toContain(`synchronous_commit is off for ${user}`);
      const [statement = ''] = /ALTER [^;]*;/.exec(found?.remedy ?? '') ?? [];
      await onServer(statement);
      expect(find('asynchronous-commit', await examine(urlAs(user, 'right')))).toBeUndefined();
    }
    await onServer(`ALTER DATABASE ${name} RESET synchronous_commit`);
    await onServer(`DROP ROLE ${user}`);
  });

  it.each([
    [
      'a unique index',
      'ALTER TABLE order_timeout.timeout DROP CONSTRAINT timeout_pkey',
      'ALTER TABLE order_timeout.timeout ADD PRIMARY KEY (kind, key)',
      'the unique index of timeout (kind, key)',
    ],
    [
      'a function',
      'ALTER FUNCTION order_timeout.payment_name RENAME TO hidden',
      'ALTER FUNCTION order_timeout.hidden RENAME TO payment_name',
      'the function payment_name',
    ],
  ])('27. that %s is gone', async (_, hide, show, what) => {
    await database.dataSource.query(hide);
    const found = find('tables-missing', await examine(database.url));
    await database.dataSource.query(show);
    expect(found?.seen).toContain(` lacks ${what}, although all migrations were run`);
    expect(find('tables-missing', await examine(database.url))).toBeUndefined();
  });

  it('27. every unique index that the migrations create', async () => {
    const rows = await database.dataSource.query<{ name: string; keys: string[] }[]>(
      `SELECT c.relname AS name, array_agg(i.indexrelid::regclass::text) AS keys
         FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
        WHERE c.relnamespace = 'order_timeout'::regnamespace AND i.indisunique AND c.relname NOT LIKE '%migrations'
        GROUP BY 1`,
    );
    const created = rows.map(({ name, keys }) => [name, keys.length]);
    const known = Object.entries(OWN_TABLES).flatMap(([name, { keys }]) => (keys ? [[name, keys.length]] : []));
    expect(Object.fromEntries(known)).toEqual(Object.fromEntries(created));
  });

  it('34. a trigger of somebody else, and not those of the package', async () => {
    const { dataSource, url } = database;
    expect((await examine(url)).facts).not.toHaveProperty('foreign triggers');
    await dataSource.query(
      `CREATE FUNCTION public.audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
    );
    await dataSource.query(`CREATE TRIGGER note BEFORE UPDATE ON order_timeout.orders
      FOR EACH ROW EXECUTE FUNCTION public.audit()`);
    expect((await examine(url)).facts['foreign triggers']).toContain('note of orders, by audit()');
  });
});

import { randomUUID } from 'node:crypto';
import { type DataSource } from 'typeorm';
import { migrate, orderTimeoutMigrations } from '../../../src/module';
import { assertMigrated } from '../../../src/module/migrations';
import { NewerSchemaError } from '../../../src/database/errors';
import { SystemClock } from '../../../src/clock';
import { InvalidOptionsError } from '../../../src/errors';
import { addOutboxAge } from '../../../src/outbox';
import { indexOrders } from '../../../src/orders/migrations/orders';
import { connectTo, onServer, urlOf } from '../../support/database';
import { until } from '../../support/engine';

/** Of src/module/migrate.ts. */
const LOCK = 7_263_001;

describe('migrate', () => {
  const name = `ot_migrate_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  let host: DataSource;

  beforeAll(async () => {
    await onServer(`CREATE DATABASE ${name}`);
    host = await connectTo(urlOf(name), 2);
  });

  afterAll(async () => {
    await host.destroy();
    await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });

  const all = (schema: string): string[] =>
    orderTimeoutMigrations(schema).map((migration) => new migration().name ?? 'without a name');
  const relationsOf = async (schema: string): Promise<string[]> => {
    const rows = await host.query<{ relname: string }[]>(
      `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'S', 'v', 'm') ORDER BY 1`,
      [schema],
    );
    return rows.map(({ relname }) => relname);
  };

  /** Those that have an open transaction in which they have asked for the lock. */
  const asking = async (): Promise<string[]> => {
    const rows = await host.query<{ text: string }[]>(
      `SELECT pid || ' ' || xact_start AS text FROM pg_stat_activity
        WHERE datname = $1 AND state <> 'idle' AND query LIKE 'SELECT pg_try_advisory_xact_lock%'`,
      [name],
    );
    return rows.map(({ text }) => text);
  };

  /** Resolves when somebody has waited for the lock for longer than a hasty host's limits, in no transaction of that length. */
  const untilWaiting = async (): Promise<void> => {
    const pausing = jest.spyOn(SystemClock.prototype, 'sleep');
    await until(() => pausing.mock.calls.length >= 5);
    await until(async () => {
      const before = await asking();
      const pauses = pausing.mock.calls.length;
      await until(() => pausing.mock.calls.length > pauses);
      const after = await asking();
      return before.every((one) => !after.includes(one));
    });
    pausing.mockRestore();
  };

  /** Resolves when a session waits for a lock on a table. */
  const untilBlocked = (observer: DataSource): Promise<void> =>
    until(async () => {
      const blocked = await observer.query<unknown[]>(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'relation' AND datname = $1`,
        [name],
      );
      return blocked.length > 0;
    });

  it('makes everything in a schema of its own, once', async () => {
    expect(await migrate(host)).toEqual(all('order_timeout'));
    const made = await relationsOf('order_timeout');
    expect(made).toEqual(expect.arrayContaining(['timeout', 'timeout_generation', 'outbox', 'orders', 'inventory']));
    expect(await relationsOf('public')).toEqual([]);
    expect(await migrate(host)).toEqual([]);
    expect(await relationsOf('order_timeout')).toEqual(made);
  });

  it('runs every migration once when five instances start together', async () => {
    const hosts = await Promise.all(Array.from({ length: 5 }, () => connectTo(urlOf(name), 2)));
    const runs = await Promise.all(hosts.map((each) => migrate(each, 'together')));
    await Promise.all(hosts.map((each) => each.destroy()));
    expect(runs.flat()).toEqual(all('together'));
    expect(runs.filter((run) => run.length === 0)).toHaveLength(4);
  });

  it('needs no lock when there is nothing to do, so nobody who died with it keeps a start', async () => {
    await migrate(host, 'done');
    const holder = await connectTo(urlOf(name), 1);
    // Not by the pool, which would close the connection after 10 s.
    await holder.createQueryRunner().query('SELECT pg_advisory_lock($1)', [LOCK]);
    expect(await migrate(host, 'done')).toEqual([]);
    await holder.destroy();
  });

  it('waits for another one that migrates, however short the limits of the host are', async () => {
    const holder = await connectTo(urlOf(name), 1);
    await holder.createQueryRunner().query('SELECT pg_advisory_lock($1)', [LOCK]);
    const hasty = await connectTo(urlOf(name), 2, { query_timeout: 150, statement_timeout: 100 });
    const migrated = migrate(hasty, 'hasty');
    await untilWaiting();
    await holder.destroy();
    expect(await migrated).toEqual(all('hasty'));
    await hasty.destroy();
  });

  it('has no limit of time, as an index on a large table takes minutes', async () => {
    await host.query('CREATE TABLE public.limits (statement text, idle text)');
    await host.query(`CREATE FUNCTION public.note_limits() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO public.limits
      VALUES (current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')); END $$`);
    await host.query('CREATE EVENT TRIGGER note_limits ON ddl_command_end EXECUTE FUNCTION public.note_limits()');
    try {
      await migrate(host, 'unlimited');
      expect(await host.query('SELECT DISTINCT statement, idle FROM public.limits')).toEqual([
        { statement: '0', idle: '0' },
      ]);
    } finally {
      await host.query('DROP EVENT TRIGGER note_limits');
    }
  });

  it('waits for a session that reads a table, and lets the others use it meanwhile', async () => {
    await migrate(host, 'in_use');
    const last = addOutboxAge('in_use');
    const runner = host.createQueryRunner();
    await new last().down(runner);
    await runner.query('DELETE FROM in_use.order_timeout_compatible_migrations WHERE name = $1', [new last().name]);
    await runner.startTransaction();
    await runner.query('SELECT 1 FROM in_use.outbox');
    const migrated = migrate(host, 'in_use');
    const other = await connectTo(urlOf(name), 1, { statement_timeout: 2_500 });
    await untilBlocked(other);
    // Queues behind ALTER TABLE, which gives up after a second.
    expect(await other.query('SELECT 1 FROM in_use.outbox')).toEqual([]);
    await runner.rollbackTransaction();
    await runner.release();
    expect(await migrated).toEqual([new last().name]);
    await other.destroy();
  });

  it('builds an index while others write, although another instance waits to migrate and a reader is slow', async () => {
    await migrate(host, 'live');
    const live = new (indexOrders('live'))();
    const runner = host.createQueryRunner();
    await live.down(runner);
    // As a process leaves it that died while it built the index.
    await runner.query('CREATE INDEX orders_created ON live.orders (created_at, id)');
    await runner.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'live.orders_created'::regclass`);
    await runner.query('DELETE FROM live.order_timeout_compatible_migrations WHERE name = $1', [live.name]);
    await runner.startTransaction('REPEATABLE READ');
    await runner.query('SELECT 1 FROM live.outbox');
    const others = await Promise.all([connectTo(urlOf(name), 2), connectTo(urlOf(name), 2)]);
    const runs = others.map((other) => migrate(other, 'live'));
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event = 'virtualxid' AND datname = $1`;
    await until(async () => (await others[0]?.query<unknown[]>(waiting, [name]))?.length === 1);
    await others[0]?.query(
      `INSERT INTO live.orders (id, amount, currency, expires_at, fingerprint) VALUES ('o', 1, 'EUR', now(), 'f')`,
    );
    await runner.rollbackTransaction();
    await runner.release();
    expect((await Promise.all(runs)).flat()).toEqual([live.name]);
    const valid = await host.query<unknown[]>(
      `SELECT c.relname, i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE i.indrelid = 'live.orders'::regclass AND NOT i.indisprimary ORDER BY 1`,
    );
    expect(valid).toEqual([
      { relname: 'orders_created', valid: true },
      { relname: 'orders_merchant', valid: true },
    ]);
    await Promise.all(others.map((other) => other.destroy()));
  });

  it('builds the same index in the transaction of a host', async () => {
    await migrate(host, 'hosted');
    const live = new (indexOrders('hosted'))();
    const runner = host.createQueryRunner();
    await live.down(runner);
    await runner.startTransaction();
    await live.up(runner);
    await runner.commitTransaction();
    await runner.release();
    expect(await host.query(`SELECT 'hosted.orders_merchant'::regclass::text AS index`)).toEqual([
      { index: 'hosted.orders_merchant' },
    ]);
  });

  it('keeps two schemas of one database apart', async () => {
    expect(await migrate(host, 'second_shop')).toEqual(all('second_shop'));
    expect(await relationsOf('second_shop')).toEqual(await relationsOf('order_timeout'));
  });

  it('refuses a schema that a newer release has migrated, changes nothing, and lets go of its lock', async () => {
    await migrate(host, 'newer');
    await host.query(
      `INSERT INTO newer.order_timeout_migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`,
    );
    await expect(migrate(host, 'newer')).rejects.toThrow(NewerSchemaError);
    await expect(migrate(host, 'newer')).rejects.toMatchObject({
      code: 'ORDER_TIMEOUT/NEWER_SCHEMA',
      migrations: ['FromTheFuture9999999999999'],
    });
    const [lock] = await host.query<{ held: string }[]>(
      `SELECT count(*) AS held FROM pg_locks WHERE locktype = 'advisory' AND database =
         (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    expect(lock?.held).toBe('0');
  });

  describe('of a schema with migrations of a newer release', () => {
    const LAST = all('newer').at(-1);

    /** As the newer release records a migration that those who know `since` can work with. */
    async function recordCompatible(schema: string, name: string, since = LAST): Promise<void> {
      await migrate(host, schema);
      await host.query(
        `CREATE TABLE IF NOT EXISTS ${schema}.order_timeout_compatible_migrations
           (name text PRIMARY KEY, compatible_since text NOT NULL, run_at timestamptz NOT NULL DEFAULT now())`,
      );
      await host.query(`INSERT INTO ${schema}.order_timeout_compatible_migrations VALUES ($1, $2)`, [name, since]);
    }

    it('has nothing to do where all of them work with what this one knows', async () => {
      await recordCompatible('additive', 'AddSomething9999999999998');
      expect(await migrate(host, 'additive')).toEqual([]);
      await expect(assertMigrated(host, 'additive')).resolves.toBeUndefined();
    });

    it('refuses, and names those alone that need what this one does not know', async () => {
      await recordCompatible('contracted', 'AddSomething9999999999998');
      await recordCompatible('contracted', 'DropSomething9999999999999', 'AddSomething9999999999998');
      const refused = { code: 'ORDER_TIMEOUT/NEWER_SCHEMA', migrations: ['DropSomething9999999999999'] };
      await expect(migrate(host, 'contracted')).rejects.toMatchObject(refused);
      await expect(assertMigrated(host, 'contracted')).rejects.toMatchObject(refused);
    });
  });

  it('leaves a failed migration undone, and does it when the obstacle is gone', async () => {
    await host.query('CREATE SCHEMA obstructed');
    await host.query('CREATE TABLE obstructed.timeout (mine int)');
    await expect(migrate(host, 'obstructed')).rejects.toThrow(/already exists/);
    await host.query('DROP TABLE obstructed.timeout');
    await migrate(host, 'obstructed');
    expect(await relationsOf('obstructed')).toEqual(await relationsOf('order_timeout'));
  });

  it('leaves nothing behind when all migrations are taken back in reverse', async () => {
    await migrate(host, 'short_lived');
    const runner = host.createQueryRunner();
    for (const migration of orderTimeoutMigrations('short_lived').toReversed()) await new migration().down(runner);
    await runner.release();
    const records = /^order_timeout_(compatible_)?migrations(_id_seq)?$/;
    expect((await relationsOf('short_lived')).filter((relation) => !records.test(relation))).toEqual([]);
    const [rest] = await host.query<{ functions: string; types: string }[]>(
      `SELECT (SELECT count(*) FROM pg_proc WHERE pronamespace = 'short_lived'::regnamespace) AS functions,
              (SELECT count(*) FROM pg_type WHERE typnamespace = 'short_lived'::regnamespace
                  AND typname NOT LIKE '%migrations') AS types`,
    );
    expect(rest).toEqual({ functions: '0', types: '0' });
  });

  it.each(['Shop', 'a-b', '1st', '', 'x; DROP SCHEMA public', 'x'.repeat(64), '"quoted"'])(
    'refuses the schema name %j before it touches the database',
    async (schema) => {
      await expect(migrate(host, schema)).rejects.toThrow(InvalidOptionsError);
    },
  );
});

import { randomUUID } from 'node:crypto';
import { type INestApplication, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type DataSource } from 'typeorm';
import {
  migrate,
  Orders,
  orderTimeoutMigrations,
  OrderTimeoutModule,
  type OrderTimeoutOptions,
  ResilientClient,
} from '../../../src';
import { TimeoutsModule } from '../../../src/public/timeouts';
import { connectTo, onServer, urlOf } from '../../support/database';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

type Imports = NonNullable<ModuleMetadata['imports']>;

describe('a failed start says why and what to do', () => {
  const suffix = randomUUID().replaceAll('-', '').slice(0, 12);
  const name = `ot_refused_${suffix}`;
  const role = `ot_app_${suffix}`;
  let vhost: TestVhost;
  let administrator: DataSource;
  let dataSource: DataSource;
  let app: INestApplication | undefined;

  beforeAll(async () => {
    vhost = await createVhost();
    await onServer(`CREATE ROLE ${role} LOGIN PASSWORD 'app'`);
  });

  beforeEach(async () => {
    await onServer(`CREATE DATABASE ${name}`);
    const url = new URL(urlOf(name));
    administrator = await connectTo(url.href, 3);
    url.username = role;
    url.password = 'app';
    dataSource = await connectTo(url.href, 5);
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
    await dataSource.destroy();
    await administrator.destroy();
    await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
  });

  afterAll(async () => {
    await onServer(`DROP ROLE ${role}`);
    await vhost.drop();
  });

  const optionsOf = (more: Partial<OrderTimeoutOptions> = {}): OrderTimeoutOptions => ({
    dataSource: administrator,
    rabbit: { urls: [vhost.url], queueType: 'classic' },
    transport: 'none',
    ...more,
  });

  async function start(...imports: Imports): Promise<INestApplication> {
    @Module({ imports })
    class Host {}
    app = await NestFactory.create(Host, { logger: false, abortOnError: false });
    return app.init();
  }

  const refusal = (code: string, ...parts: string[]) => ({
    code: `ORDER_TIMEOUT/${code}`,
    message: expect.stringMatching(new RegExp(parts.map(escape).join('[^]*'))) as string,
  });
  const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

  describe('if the module is imported twice', () => {
    const importing = (className: string, imported: Imports[number]) => {
      const made = { [className]: class {} }[className] as new () => object;
      Module({ imports: [imported] })(made);
      return made;
    };

    it('by two modules of the host', async () => {
      const shop = importing('ShopModule', OrderTimeoutModule.forRoot(optionsOf()));
      const billing = importing('BillingModule', OrderTimeoutModule.forRoot(optionsOf()));
      await expect(start(shop, billing)).rejects.toMatchObject(
        refusal('IMPORTED_TWICE', 'OrderTimeoutModule', 'ShopModule', 'BillingModule', 'import it once'),
      );
    });

    it('as OrderTimeoutModule and as TimeoutsModule, which OrderTimeoutModule includes', async () => {
      const shop = importing('ShopModule', OrderTimeoutModule.forRoot(optionsOf()));
      const { dataSource: host, rabbit } = optionsOf();
      const jobs = importing('JobsModule', TimeoutsModule.forRoot({ dataSource: host, rabbit }));
      await expect(start(shop, jobs)).rejects.toMatchObject(
        refusal('IMPORTED_TWICE', 'TimeoutsModule is imported 2 times (by JobsModule)', 'OrderTimeoutModule brings'),
      );
    });

    it('but not if two modules import the result of one forRoot call', async () => {
      const ours = OrderTimeoutModule.forRoot(optionsOf());
      const host = await start(importing('ShopModule', ours), importing('BillingModule', ours));
      expect(await host.get(Orders).get('none')).toBeUndefined();
    });
  });

  describe('if tables are missing', () => {
    it('because the host does not migrate', async () => {
      const without = start(OrderTimeoutModule.forRoot(optionsOf({ migrate: false })));
      await expect(without).rejects.toMatchObject(
        refusal('MISSING_TABLES', '"order_timeout"', name, "migrate(dataSource, 'order_timeout')", 'migrate: true'),
      );
    });

    it('for a host that imports TimeoutsModule alone', async () => {
      const { dataSource: host, rabbit } = optionsOf();
      await expect(start(TimeoutsModule.forRoot({ dataSource: host, rabbit, schema: 'mine' }))).rejects.toMatchObject(
        refusal('MISSING_TABLES', '"mine"', 'outbox, timeout, timeout_generation', "migrate(dataSource, 'mine')"),
      );
    });

    it('of a newer release, which are named', async () => {
      await migrate(administrator);
      const [last] = orderTimeoutMigrations('order_timeout').slice(-1);
      const nameOfLast = last && new last().name;
      for (const table of ['order_timeout_migrations', 'order_timeout_compatible_migrations']) {
        await administrator.query(`DELETE FROM order_timeout.${table} WHERE name = $1`, [nameOfLast]);
      }
      await expect(start(OrderTimeoutModule.forRoot(optionsOf({ migrate: false })))).rejects.toMatchObject(
        refusal('MISSING_TABLES', String(nameOfLast), 'migrate(dataSource'),
      );
    });

    it('but not if the host runs our migrations with its own', async () => {
      await administrator.query('CREATE SCHEMA order_timeout');
      const runner = administrator.createQueryRunner();
      for (const migration of orderTimeoutMigrations('order_timeout')) await new migration().up(runner);
      await runner.release();
      const host = await start(OrderTimeoutModule.forRoot(optionsOf({ migrate: false })));
      expect(await host.get(Orders).get('none')).toBeUndefined();
    });
  });

  describe('if the database cannot do', () => {
    it('because its encoding lacks characters', async () => {
      const latin = `${name}_latin`;
      await onServer(`CREATE DATABASE ${latin} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
      const host = await connectTo(urlOf(latin), 2);
      const without = start(OrderTimeoutModule.forRoot(optionsOf({ dataSource: host })));
      await expect(without).rejects.toMatchObject(refusal('UNSUITABLE_DATABASE', latin, 'LATIN1', "ENCODING 'UTF8'"));
      await host.destroy();
      await onServer(`DROP DATABASE ${latin}`);
    });

    it('because its dates are not read, unless the pool has our client', async () => {
      await onServer(`ALTER DATABASE ${name} SET datestyle = 'SQL, DMY'`);
      const [plain, ours] = [
        await connectTo(urlOf(name), 3),
        await connectTo(urlOf(name), 3, { Client: ResilientClient }),
      ];
      const without = start(OrderTimeoutModule.forRoot(optionsOf({ dataSource: plain })));
      await expect(without).rejects.toMatchObject(
        refusal(
          'UNSUITABLE_DATABASE',
          'SQL, DMY',
          'ResilientClient',
          'ALTER ROLE',
          `IN DATABASE ${name} SET datestyle`,
        ),
      );
      await app?.close();
      const host = await start(OrderTimeoutModule.forRoot(optionsOf({ dataSource: ours })));
      expect(await host.get(Orders).get('none')).toBeUndefined();
      await host.close();
      app = undefined;
      await Promise.all([plain.destroy(), ours.destroy()]);
    });
  });

  describe('if the database user lacks the right', () => {
    /** What stands after "run" in a message, as the administrator would paste it. */
    const sqlIn = (error: unknown): string =>
      /: ((?:ALTER|CREATE|GRANT) [^]*?;)(?: or|$)/.exec(String(error))?.[1] ?? '';
    const refused = (more: Partial<OrderTimeoutOptions> = {}): Promise<unknown> =>
      start(OrderTimeoutModule.forRoot(optionsOf({ dataSource, ...more }))).then(
        () => 'started',
        (error: unknown) => error,
      );

    it('to create our schema; after the remedy it starts', async () => {
      const error = await refused();
      expect(error).toMatchObject(refusal('MISSING_RIGHTS', role, 'order_timeout', `AUTHORIZATION ${role};`));
      await administrator.query(sqlIn(error));
      expect(await refused()).toBe('started');
    });

    it('to use tables of another user; after the remedy it starts', async () => {
      await migrate(administrator);
      const error = await refused();
      expect(error).toMatchObject(refusal('MISSING_RIGHTS', role, 'GRANT USAGE ON SCHEMA order_timeout', role));
      await administrator.query(sqlIn(error));
      expect(await refused()).toBe('started');
    });

    it('to use some tables and a function, which are named, even without migrating', async () => {
      await migrate(administrator);
      await administrator.query(`GRANT USAGE ON SCHEMA order_timeout TO ${role}`);
      await administrator.query(`GRANT ALL ON ALL TABLES IN SCHEMA order_timeout TO ${role}`);
      await administrator.query(`GRANT ALL ON ALL SEQUENCES IN SCHEMA order_timeout TO ${role}`);
      await administrator.query(`REVOKE INSERT ON order_timeout.orders FROM ${role}`);
      await administrator.query(`REVOKE DELETE ON order_timeout.outbox FROM ${role}`);
      await administrator.query('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA order_timeout FROM PUBLIC');
      const error = await refused({ migrate: false });
      const lacking = ['INSERT on orders', 'DELETE on outbox', 'EXECUTE on payment_name'];
      expect(error).toMatchObject(refusal('MISSING_RIGHTS', ...lacking, 'GRANT'));
      await administrator.query(sqlIn(error));
      expect(await refused({ migrate: false })).toBe('started');
    });

    it('to see all rows, because of row-level security; after the remedy it starts', async () => {
      await migrate(administrator);
      for (const what of ['ALL TABLES', 'ALL SEQUENCES'])
        await administrator.query(`GRANT ALL ON ${what} IN SCHEMA order_timeout TO ${role}`);
      await administrator.query(`GRANT USAGE ON SCHEMA order_timeout TO ${role}`);
      for (const table of ['payment_attempt', 'timeout'])
        await administrator.query(`ALTER TABLE order_timeout.${table} ENABLE ROW LEVEL SECURITY`);
      const error = await refused({ migrate: false });
      expect(error).toMatchObject(
        refusal(
          'MISSING_RIGHTS',
          `hides rows of payment_attempt, timeout from ${role}`,
          'run as the owner',
          'ALTER TABLE',
        ),
      );
      await administrator.query(sqlIn(error));
      expect(await refused({ migrate: false })).toBe('started');
    });

    it('to change tables of another user', async () => {
      await migrate(administrator);
      await administrator.query(`GRANT USAGE, CREATE ON SCHEMA order_timeout TO ${role}`);
      await administrator.query(`GRANT ALL ON ALL TABLES IN SCHEMA order_timeout TO ${role}`);
      await administrator.query(`GRANT ALL ON ALL SEQUENCES IN SCHEMA order_timeout TO ${role}`);
      await administrator.query('DROP TABLE order_timeout.refund');
      await administrator.query(`DELETE FROM order_timeout.order_timeout_migrations WHERE name LIKE 'CreateRefunds%'`);
      const quiet = jest.spyOn(console, 'log').mockImplementation(() => undefined);
      expect(await refused()).toMatchObject(
        refusal('MISSING_RIGHTS', 'must be owner', "migrate(dataSource, 'order_timeout')"),
      );
      quiet.mockRestore();
    });
  });
});

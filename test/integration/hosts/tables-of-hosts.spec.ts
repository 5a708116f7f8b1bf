import { randomUUID } from 'node:crypto';
import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import { Column, DataSource, Entity, type MigrationInterface, PrimaryColumn, type QueryRunner } from 'typeorm';
import { Orders, OrderTimeoutModule } from '../../../src';
import { loadConfig } from '../../../src/service/config';
import { createService } from '../../../src/service/create-service';
import { environmentOf } from '../../e2e/running-service';
import { connectTo, onServer, serverUrl, urlOf } from '../../support/database';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

/** The table of a shop that has orders of its own. */
@Entity('orders')
class ShopOrder {
  @PrimaryColumn('text')
  id!: string;

  @Column('text', { nullable: true })
  note!: string | null;
}

class ShopInit1700000000000 implements MigrationInterface {
  readonly name = 'ShopInit1700000000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE orders (id text PRIMARY KEY, note text)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE orders');
  }
}

const BY_SYNCHRONIZE = { entities: [ShopOrder], synchronize: true };
const BY_MIGRATIONS = { entities: [], migrations: [ShopInit1700000000000], migrationsRun: true };

describe('the tables of a host and ours', () => {
  const suffix = randomUUID().replaceAll('-', '').slice(0, 12);
  const database = `ot_host_${suffix}`;
  /** A role and a schema of one name: what PostgreSQL's default search_path puts first. */
  const sameName = `ot_same_${suffix}`;
  let vhost: TestVhost;
  let observer: DataSource;
  let apps: INestApplication[];

  beforeAll(async () => {
    vhost = await createVhost();
    await onServer(`CREATE ROLE ${sameName} LOGIN SUPERUSER PASSWORD 'same'`);
  });

  beforeEach(async () => {
    apps = [];
    await onServer(`CREATE DATABASE ${database}`);
    observer = await connectTo(urlOf(database), 1);
  });

  afterEach(async () => {
    for (const app of apps) await app.close();
    await observer.destroy();
    await onServer(`DROP DATABASE ${database} WITH (FORCE)`);
  });

  afterAll(async () => {
    await onServer(`DROP ROLE ${sameName}`);
    await vhost.drop();
  });

  interface Boot {
    readonly tables: Partial<TypeOrmModuleOptions>;
    readonly schema?: string;
    readonly migrate?: boolean;
    readonly url?: string;
  }

  async function boot({ tables, url = urlOf(database), ...ours }: Boot): Promise<INestApplication> {
    @Module({
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url, retryAttempts: 0, ...tables } as TypeOrmModuleOptions),
        OrderTimeoutModule.forRootAsync({
          inject: [DataSource],
          useFactory: (dataSource: DataSource) => ({
            dataSource,
            rabbit: { urls: [vhost.url], queueType: 'classic' },
            transport: 'none',
            ...ours,
          }),
        }),
      ],
    })
    class Shop {}
    const app = await NestFactory.create(Shop, { logger: false, abortOnError: false });
    apps.push(app);
    return app.init();
  }

  const urlOfSameName = (): string => {
    const url = new URL(urlOf(database));
    url.username = sameName;
    url.password = 'same';
    return url.href;
  };

  async function columnsOf(schema: string): Promise<unknown[]> {
    return observer.query(
      `SELECT table_name, column_name, data_type FROM information_schema.columns
        WHERE table_schema = $1 ORDER BY table_name, ordinal_position`,
      [schema],
    );
  }

  const tablesOf = async (schema: string): Promise<string[]> => {
    const rows = await observer.query<{ tablename: string }[]>(
      'SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1',
      [schema],
    );
    return rows.map(({ tablename }) => tablename);
  };

  async function bootThreeTimes(tables: Boot['tables']): Promise<unknown[][]> {
    const columns: unknown[][] = [];
    for (let boots = 0; boots < 3; boots++) {
      const app = await boot({ tables });
      columns.push(await columnsOf('order_timeout'));
      await app.close();
      apps.pop();
    }
    return columns;
  }

  it('stay separate if the host synchronizes an entity named "orders"', async () => {
    const [first, ...later] = await bootThreeTimes(BY_SYNCHRONIZE);
    expect(first?.length).toBeGreaterThan(50);
    for (const columns of later) expect(columns).toEqual(first);
    expect(await tablesOf('public')).toEqual(['orders']);
  });

  it('stay separate if the host has its own migrations', async () => {
    const [first, ...later] = await bootThreeTimes(BY_MIGRATIONS);
    for (const columns of later) expect(columns).toEqual(first);
    expect(await tablesOf('public')).toEqual(['migrations', 'orders']);
  });

  it('stay separate in the stack of this repository, which has no user with the name of our schema', () => {
    expect(new URL(serverUrl()).username).not.toBe('order_timeout');
  });

  it('need no separation in the service, which starts with a user who has the name of its schema', async () => {
    for (let boots = 0; boots < 3; boots++) {
      const environment = { ...environmentOf(urlOfSameName(), vhost.url), DATABASE_SCHEMA: sameName };
      const app = await createService(loadConfig(environment));
      apps.push(app);
      await app.init();
      expect(await app.get(Orders).get('none')).toBeUndefined();
    }
    expect(await tablesOf(sameName)).toContain('orders');
    expect(await tablesOf('public')).toEqual([]);
  });

  describe('are never mixed: the start fails', () => {
    const refusal = (named: RegExp) => ({
      code: 'ORDER_TIMEOUT/SHARED_SCHEMA',
      message: expect.stringMatching(named) as string,
    });

    it.each([
      ['entities', BY_SYNCHRONIZE],
      ['migrations', BY_MIGRATIONS],
    ])('if the user has the name of our schema, and the host has %s; no schema is left behind', async (_, tables) => {
      const remedy = new RegExp(`run: ALTER ROLE ${sameName} SET search_path = public`);
      for (let boots = 0; boots < 3; boots++) {
        await expect(boot({ tables, schema: sameName, url: urlOfSameName() })).rejects.toMatchObject(refusal(remedy));
        expect(await tablesOf(sameName)).toEqual([]);
        expect(await tablesOf('public')).toContain('orders');
      }
    });

    it('if an earlier release has mixed the tables', async () => {
      await observer.query(`CREATE SCHEMA ${sameName}`);
      const mixed = boot({ tables: BY_MIGRATIONS, schema: sameName, url: urlOfSameName() });
      await expect(mixed).rejects.toMatchObject(refusal(/SET search_path/));
      expect(await tablesOf(sameName)).toEqual(['migrations', 'orders']);
    });

    it('if the DataSource of the host names our schema', async () => {
      await observer.query(`CREATE SCHEMA ours`);
      const tables = { ...BY_SYNCHRONIZE, schema: 'ours' };
      await expect(boot({ tables, schema: 'ours' })).rejects.toMatchObject(
        refusal(/option "schema" of the DataSource/),
      );
    });

    it('if another user has migrated, and the host does not', async () => {
      await boot({ tables: { entities: [] }, schema: sameName });
      const without = boot({ tables: BY_SYNCHRONIZE, schema: sameName, url: urlOfSameName(), migrate: false });
      await expect(without).rejects.toMatchObject(refusal(/SET search_path/));
    });
  });
});

import { randomUUID } from 'node:crypto';
import { type DataSource } from 'typeorm';
import { migrate, orderTimeoutMigrations } from '../../../src/module';
import { compatibleSince } from '../../../src/database/migrations';
import { connectTo, onServer, urlOf } from '../../support/database';

const HOSTS = 'ShopInit1700000000000';

describe('migrate on a database of an earlier release, which recorded its migrations in the table "migrations"', () => {
  const name = `ot_earlier_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  let host: DataSource;

  beforeAll(async () => {
    await onServer(`CREATE DATABASE ${name}`);
    host = await connectTo(urlOf(name), 2);
  });

  afterAll(async () => {
    await host.destroy();
    await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });

  const ours = (schema: string): string[] =>
    orderTimeoutMigrations(schema).map((migration) => new migration().name ?? 'without a name');
  const namesIn = async (table: string): Promise<string[]> =>
    (await host.query<{ name: string }[]>(`SELECT name FROM ${table} ORDER BY name`)).map((row) => row.name);

  /** What an earlier release left behind that knew the first `count` migrations. */
  async function installEarlier(schema: string, count = ours(schema).length): Promise<void> {
    await host.query(`CREATE SCHEMA ${schema}`);
    await host.query(
      `CREATE TABLE ${schema}.migrations (id serial PRIMARY KEY, "timestamp" bigint NOT NULL, name varchar NOT NULL)`,
    );
    const runner = host.createQueryRunner();
    for (const migration of orderTimeoutMigrations(schema).slice(0, count)) {
      const one = new migration();
      await one.up(runner);
      await runner.query(`INSERT INTO ${schema}.migrations ("timestamp", name) VALUES ($1, $2)`, [
        Number(one.name?.slice(-13)),
        one.name,
      ]);
    }
    await runner.release();
  }

  it('takes over what is ours and nothing of the host, and leaves the earlier table as it is', async () => {
    await installEarlier('mixed');
    await host.query(`INSERT INTO mixed.migrations ("timestamp", name) VALUES (1700000000000, '${HOSTS}')`);
    expect(await migrate(host, 'mixed')).toEqual([]);
    expect(await namesIn('mixed.order_timeout_migrations')).toEqual(ours('mixed').toSorted());
    expect(await namesIn('mixed.migrations')).toEqual([...ours('mixed'), HOSTS].toSorted());
    expect(await migrate(host, 'mixed')).toEqual([]);
  });

  it('takes over once when five instances start together', async () => {
    await installEarlier('at_once');
    const hosts = await Promise.all(Array.from({ length: 5 }, () => connectTo(urlOf(name), 2)));
    expect((await Promise.all(hosts.map((each) => migrate(each, 'at_once')))).flat()).toEqual([]);
    await Promise.all(hosts.map((each) => each.destroy()));
    expect(await namesIn('at_once.order_timeout_migrations')).toEqual(ours('at_once').toSorted());
  });

  it('runs what is new, and records it where the earlier release finds it and refuses to start', async () => {
    await installEarlier('behind', 2);
    const isNew = ours('behind').slice(2);
    expect(await migrate(host, 'behind')).toEqual(isNew);
    const known = ours('behind').slice(0, 2);
    const unfit = isNew.filter((each) => compatibleSince(each) === undefined);
    expect((await namesIn('behind.migrations')).filter((each) => !known.includes(each))).toEqual(unfit.toSorted());
  });

  it.each([
    ['another_tool', 'CREATE TABLE another_tool.migrations (id int, applied_at timestamptz)'],
    ['other_rows', `CREATE TABLE other_rows.migrations AS SELECT 1 AS id, 1 AS "timestamp", '${HOSTS}' AS name`],
  ])('leaves a table "migrations" alone that has no migration of the package (%s)', async (schema, table) => {
    await host.query(`CREATE SCHEMA ${schema}`);
    await host.query(table);
    const before = await host.query<unknown[]>(`SELECT * FROM ${schema}.migrations`);
    expect(await migrate(host, schema)).toEqual(ours(schema));
    expect(await host.query(`SELECT * FROM ${schema}.migrations`)).toEqual(before);
  });
});

import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { type DataSource } from 'typeorm';
import { migrate } from '../../../src/module';
import { renameUnmatchedPayment } from '../../../src/orders/migrations/payments';
import { connectTo, onServer, urlOf } from '../../support/database';

const WRITERS = 4;
/** Longer than a migration waits for a lock before it lets the others go. */
const LONG_TRANSACTION_MS = 1_500;

const KEEP = `
  INSERT INTO s.orphan_payment AS o (id, provider, reference, amount, currency, evidence, reason)
  VALUES (gen_random_uuid(), 'p', $1, 1, 'EUR', '{}', 'unknown-order')
  ON CONFLICT (provider, reference, merchant_account, reason) DO UPDATE SET amount = o.amount + EXCLUDED.amount`;

describe('the migration that renames the table of unmatched payments', () => {
  const suffix = randomUUID().replaceAll('-', '').slice(0, 12);
  const [database, role] = [`ot_rename_${suffix}`, `ot_app_${suffix}`];
  let dataSource: DataSource;
  const migration = new (renameUnmatchedPayment('s'))();

  beforeAll(async () => {
    await onServer(`CREATE ROLE ${role} LOGIN PASSWORD 'app'`);
    await onServer(`CREATE DATABASE ${database}`);
    dataSource = await connectTo(urlOf(database), 3);
  });

  beforeEach(async () => {
    await migrate(dataSource, 's');
    await takeBack();
  });

  afterEach(() => dataSource.query('DROP SCHEMA s CASCADE'));

  afterAll(async () => {
    await dataSource.destroy();
    await onServer(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await onServer(`DROP ROLE ${role}`);
  });

  async function takeBack(): Promise<void> {
    const runner = dataSource.createQueryRunner();
    await migration.down(runner);
    await runner.query(`DELETE FROM s.order_timeout_compatible_migrations WHERE name = $1`, [migration.name]);
    await runner.release();
  }

  const namesLike = async (pattern: string): Promise<string[]> => {
    const rows = await dataSource.query<{ name: string }[]>(
      `SELECT relkind::text || ' ' || relname AS name FROM pg_class
        WHERE relnamespace = 's'::regnamespace AND relname LIKE $1
        UNION ALL
       SELECT 'constraint ' || conname FROM pg_constraint WHERE connamespace = 's'::regnamespace AND conname LIKE $1
        ORDER BY 1`,
      [pattern],
    );
    return rows.map(({ name }) => name);
  };

  it('renames what belongs to the table, leaves a view of the former name, and can be taken back', async () => {
    const before = await namesLike('orphan%');
    expect(before.length).toBeGreaterThan(5);
    expect(await migrate(dataSource, 's')).toEqual([migration.name]);
    expect(await namesLike('orphan%')).toEqual(['v orphan_payment']);
    expect(await namesLike('unmatched%')).toEqual(before.map((name) => name.replace('orphan', 'unmatched')));
    await takeBack();
    expect(await namesLike('orphan%')).toEqual(before);
    expect(await namesLike('unmatched%')).toEqual([]);
  });

  it('renames what a host has added to the table under names that SQL takes in quotes only', async () => {
    await dataSource.query(`CREATE INDEX "orphan_payment_orderId_idx" ON s.orphan_payment (order_id)`);
    await dataSource.query(`ALTER TABLE s.orphan_payment ADD CONSTRAINT "orphan_payment_by-host" CHECK (amount < 9)`);
    const expected = ['constraint unmatched_payment_by-host', 'i unmatched_payment_orderId_idx'];
    await migrate(dataSource, 's');
    expect(await namesLike('unmatched%')).toEqual(expect.arrayContaining(expected));
    expect(await namesLike('orphan%')).toEqual(['v orphan_payment']);
    await takeBack();
    expect(await namesLike('orphan%')).toEqual(
      expect.arrayContaining(expected.map((name) => name.replace('unmatched', 'orphan'))),
    );
  });

  it('keeps the payments, and shows through the view what is written to the table', async () => {
    await dataSource.query(KEEP, ['before']);
    await migrate(dataSource, 's');
    await dataSource.query(KEEP, ['before']);
    await dataSource.query(KEEP, ['after']);
    const rows = `SELECT reference, amount, handling FROM s.unmatched_payment ORDER BY reference`;
    const expected = [
      { reference: 'after', amount: '1', handling: 'kept' },
      { reference: 'before', amount: '2', handling: 'kept' },
    ];
    expect(await dataSource.query(rows)).toEqual(expected);
    expect(await dataSource.query(rows.replace('unmatched', 'orphan'))).toEqual(expected);
    await takeBack();
    expect(await dataSource.query(rows.replace('unmatched', 'orphan'))).toEqual(expected);
  });

  it('lets a user who does not own the table do through the view what the table lets him do', async () => {
    await dataSource.query(`GRANT USAGE ON SCHEMA s TO ${role}`);
    await dataSource.query(`GRANT SELECT, INSERT, UPDATE ON s.orphan_payment TO ${role}`);
    await migrate(dataSource, 's');
    const app = await connectAsApp();
    try {
      await app.query(KEEP, ['granted']);
      await app.query(KEEP.replace('orphan', 'unmatched'), ['granted']);
      expect(await app.query('SELECT amount FROM s.orphan_payment FOR UPDATE')).toEqual([{ amount: '2' }]);
      await expect(app.query('DELETE FROM s.orphan_payment')).rejects.toThrow('permission denied for view');
    } finally {
      await app.destroy();
      await dataSource.query(`DROP OWNED BY ${role}`);
    }
  });

  it('gives the view to the owner of the table, though another user migrates', async () => {
    await dataSource.query(`GRANT USAGE ON SCHEMA s TO ${role}`);
    await dataSource.query(`ALTER TABLE s.orphan_payment OWNER TO ${role}`);
    await migrate(dataSource, 's');
    const app = await connectAsApp();
    try {
      await app.query(KEEP, ['owned']);
      expect(await app.query('SELECT amount FROM s.unmatched_payment FOR UPDATE')).toEqual([{ amount: '1' }]);
      await app.query('DROP VIEW s.orphan_payment');
    } finally {
      await app.destroy();
      await dataSource.query(`DROP OWNED BY ${role}`);
    }
  });

  it('runs while transactions write, and none of them fails', async () => {
    const clients = await Promise.all(Array.from({ length: WRITERS }, () => connect()));
    let isDone = false;
    const write = async (client: Client, reference: string): Promise<number> => {
      let written = 0;
      for (; !isDone; written++) await keep(client, reference, written === 0 ? LONG_TRANSACTION_MS : 0);
      for (let more = 0; more < 3; more++, written++) await keep(client, reference, 0);
      return written;
    };
    const writing = clients.map((client, index) => write(client, `w-${index}`));
    await setTimeout(100);
    expect(await migrate(dataSource, 's')).toEqual([migration.name]);
    isDone = true;
    const written = await Promise.all(writing);
    await Promise.all(clients.map((client) => client.end()));
    const rows = await dataSource.query<{ amount: string }[]>(
      'SELECT amount FROM s.unmatched_payment ORDER BY reference',
    );
    expect(rows.map(({ amount }) => Number(amount))).toEqual(written);
    expect(Math.min(...written)).toBeGreaterThan(3);
  });

  function connectAsApp(): Promise<DataSource> {
    const url = new URL(urlOf(database));
    [url.username, url.password] = [role, 'app'];
    return connectTo(url.href, 1);
  }

  async function connect(): Promise<Client> {
    const client = new Client({ connectionString: urlOf(database) });
    await client.connect();
    return client;
  }

  /** In a transaction, by a prepared statement: the plan that it has made names the table. */
  async function keep(client: Client, reference: string, forMs: number): Promise<void> {
    await client.query('BEGIN');
    await client.query({ name: 'keep', text: KEEP, values: [reference] });
    await setTimeout(forMs);
    await client.query('COMMIT');
  }
});

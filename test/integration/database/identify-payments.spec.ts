import { randomUUID } from 'node:crypto';
import { type DataSource, type QueryRunner } from 'typeorm';
import { orderTimeoutMigrations } from '../../../src/module';
import { connectTo, onServer, urlOf } from '../../support/database';

const NAME = 'IdentifyPayments1764000000600';

describe('the migration that makes the merchant account part of a payment', () => {
  const name = `ot_identify_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  let database: DataSource;
  let runner: QueryRunner;
  const migrations = orderTimeoutMigrations('old').map((migration) => new migration());
  const index = migrations.findIndex((migration) => migration.name === NAME);

  beforeAll(async () => {
    await onServer(`CREATE DATABASE ${name}`);
    database = await connectTo(urlOf(name), 2);
    runner = database.createQueryRunner();
    await runner.query('CREATE SCHEMA old');
    for (const migration of migrations.slice(0, index)) await migration.up(runner);
    await runner.query(`
      INSERT INTO old.orders (id, amount, currency, expires_at, fingerprint, status)
      VALUES ('o-1', 100, 'EUR', now(), 'f', 'REFUNDING')`);
    await runner.query(`
      INSERT INTO old.payment_attempt (provider, reference, order_id, merchant_account, status, amount, currency, paid_amount)
      VALUES ('p', 'without', 'o-1', NULL, 'OPEN', 100, 'EUR', NULL), ('p', 'with', 'o-1', 'shop', 'REFUNDING', 100, 'EUR', 100)`);
    await runner.query(`
      INSERT INTO old.refund (number, provider, reference, order_id, amount, currency, reason)
      VALUES (repeat('a', 32), 'p', 'with', 'o-1', 100, 'EUR', 'late')`);
    await runner.query(`
      INSERT INTO old.orphan_payment (id, provider, reference, amount, currency, evidence, reason)
      VALUES (gen_random_uuid(), 'p', 'unmatched', 100, 'EUR', '{"merchantAccount": "shop"}', 'unknown-order')`);
  });

  afterAll(async () => {
    await runner.release();
    await database.destroy();
    await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });

  it('keeps what is there, and knows that nobody has vouched for it', async () => {
    await migrations[index]?.up(runner);
    expect(
      await runner.query(
        'SELECT reference, merchant_account, registered, paid_source FROM old.payment_attempt ORDER BY reference',
      ),
    ).toEqual([
      { reference: 'with', merchant_account: 'shop', registered: true, paid_source: null },
      { reference: 'without', merchant_account: '', registered: true, paid_source: null },
    ]);
    expect(await runner.query('SELECT merchant_account FROM old.refund')).toEqual([{ merchant_account: 'shop' }]);
    expect(await runner.query('SELECT merchant_account, source FROM old.orphan_payment')).toEqual([
      { merchant_account: 'shop', source: 'report' },
    ]);
  });

  it('lets two merchants use the same number', async () => {
    await runner.query(`
      INSERT INTO old.payment_attempt (provider, reference, order_id, merchant_account, status, amount, currency)
      VALUES ('p', 'without', 'o-1', 'other', 'OPEN', 100, 'EUR')`);
    await runner.query(`DELETE FROM old.payment_attempt WHERE merchant_account = 'other'`);
  });

  it('can be taken back', async () => {
    await migrations[index]?.down(runner);
    await expect(runner.query('SELECT paid_source FROM old.payment_attempt')).rejects.toThrow('does not exist');
    expect(await runner.query('SELECT count(*)::int AS n FROM old.refund')).toEqual([{ n: 1 }]);
  });
});

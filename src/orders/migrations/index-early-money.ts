import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { createIndexLive, type LiveMigration } from '../../database';

/** Finds money that no order has by the reference under which the provider took more than one payment. */
export function indexEarlyMoney(schema: string): new () => MigrationInterface {
  return class IndexEarlyMoney1766000002100 implements LiveMigration {
    readonly name = 'IndexEarlyMoney1766000002100';
    readonly isLive = true;

    up(runner: QueryRunner): Promise<void> {
      // Hash: a provider may have put a text of any length there.
      const on = `USING hash ((evidence->>'reference')) WHERE reason = 'unknown-order' AND handling = 'kept'`;
      return createIndexLive(runner, schema, { name: 'unmatched_payment_early', table: 'unmatched_payment', on });
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP INDEX ${schema}.unmatched_payment_early`);
    }
  };
}

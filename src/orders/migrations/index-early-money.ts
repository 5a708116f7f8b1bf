import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { createIndexLive, type LiveMigration } from '../../database';

const INDEXES = { unmatched_payment_early: 'reference', unmatched_payment_named: 'transactionId' };

/**
 * Finds money that no order has by its other names: the reference under which the provider took more than one payment, and
 * the provider's own id of it.
 */
export function indexEarlyMoney(schema: string): new () => MigrationInterface {
  return class IndexEarlyMoney1766000002100 implements LiveMigration {
    readonly name = 'IndexEarlyMoney1766000002100';
    readonly isLive = true;

    async up(runner: QueryRunner): Promise<void> {
      for (const [name, key] of Object.entries(INDEXES)) {
        // Hash: a provider may have put a text of any length there.
        const on = `USING hash ((evidence->>'${key}')) WHERE reason = 'unknown-order' AND handling = 'kept'`;
        await createIndexLive(runner, schema, { name, table: 'unmatched_payment', on });
      }
    }

    async down(runner: QueryRunner): Promise<void> {
      for (const name of Object.keys(INDEXES)) await runner.query(`DROP INDEX ${schema}.${name}`);
    }
  };
}

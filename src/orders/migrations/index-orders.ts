import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { createIndexLive, type LiveMigration } from '../../database';

/**
 * For lists of orders, newest first. None of the columns ever changes: with the status in an index, each transition would
 * have to write to all indexes of the table, which it does not do today (HOT).
 */
export function indexOrders(schema: string): new () => MigrationInterface {
  return class IndexOrders1765500001700 implements LiveMigration {
    readonly name = 'IndexOrders1765500001700';
    readonly isLive = true;

    async up(runner: QueryRunner): Promise<void> {
      for (const [name, on] of Object.entries(INDEXES))
        await createIndexLive(runner, schema, { name, table: 'orders', on });
    }

    async down(runner: QueryRunner): Promise<void> {
      for (const name of Object.keys(INDEXES)) await runner.query(`DROP INDEX ${schema}.${name}`);
    }
  };
}

const INDEXES = {
  orders_created: '(created_at, id)',
  orders_merchant: '(merchant_id, created_at, id)',
};

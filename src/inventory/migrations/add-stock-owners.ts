import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** SKUs that belong to one merchant. Null: to all. */
export function addStockOwners(schema: string): new () => MigrationInterface {
  return class AddStockOwners1765100000700 implements MigrationInterface {
    readonly name = 'AddStockOwners1765100000700';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`
        ALTER TABLE ${schema}.inventory ADD COLUMN merchant_id text CHECK (length(merchant_id) BETWEEN 1 AND 64)`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`ALTER TABLE ${schema}.inventory DROP COLUMN merchant_id`);
    }
  };
}

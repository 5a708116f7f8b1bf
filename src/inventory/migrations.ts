import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** The migrations of this module, in order. */
export function inventoryMigrations(schema: string): (new () => MigrationInterface)[] {
  return [createInventory(schema), addStockOwners(schema)];
}

/** Stock counters, and the reservations that they sum up. */
function createInventory(schema: string): new () => MigrationInterface {
  return class CreateInventory1763600000300 implements MigrationInterface {
    readonly name = 'CreateInventory1763600000300';

    async up(runner: QueryRunner): Promise<void> {
      // Half-empty pages allow HOT updates: the counters of a popular SKU change thousands of times between two
      // vacuums.
      await runner.query(`
        CREATE TABLE ${schema}.inventory (
          sku      text PRIMARY KEY CHECK (length(sku) BETWEEN 1 AND 128),
          on_hand  int  NOT NULL CHECK (on_hand >= 0),
          reserved int  NOT NULL DEFAULT 0 CHECK (reserved >= 0),
          CHECK (reserved <= on_hand)
        ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)`);
      await runner.query(`
        CREATE TABLE ${schema}.reservation (
          order_id text NOT NULL,
          sku      text NOT NULL REFERENCES ${schema}.inventory,
          qty      int  NOT NULL CHECK (qty > 0),
          state    text NOT NULL DEFAULT 'RESERVED' CHECK (state IN ('RESERVED', 'RELEASED', 'COMMITTED')),
          PRIMARY KEY (order_id, sku)
        ) WITH (fillfactor = 70)`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP TABLE ${schema}.reservation`);
      await runner.query(`DROP TABLE ${schema}.inventory`);
    }
  };
}

/** SKUs that belong to one merchant. Null: to all. */
function addStockOwners(schema: string): new () => MigrationInterface {
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

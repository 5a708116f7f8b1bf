import { type Migration, migrationOf } from '../database';

export function inventoryMigrations(schema: string): Migration[] {
  return [createInventory(schema), addStockOwners(schema)];
}

/** Stock counters, and the reservations that they sum up. */
function createInventory(schema: string): Migration {
  return migrationOf(
    'CreateInventory1763600000300',
    [
      // Half-empty pages allow HOT updates: the counters of a popular SKU change thousands of times between two
      // vacuums.
      `
        CREATE TABLE ${schema}.inventory (
          sku      text PRIMARY KEY CHECK (length(sku) BETWEEN 1 AND 128),
          on_hand  int  NOT NULL CHECK (on_hand >= 0),
          reserved int  NOT NULL DEFAULT 0 CHECK (reserved >= 0),
          CHECK (reserved <= on_hand)
        ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)`,
      `
        CREATE TABLE ${schema}.reservation (
          order_id text NOT NULL,
          sku      text NOT NULL REFERENCES ${schema}.inventory,
          qty      int  NOT NULL CHECK (qty > 0),
          state    text NOT NULL DEFAULT 'RESERVED' CHECK (state IN ('RESERVED', 'RELEASED', 'COMMITTED')),
          PRIMARY KEY (order_id, sku)
        ) WITH (fillfactor = 70)`,
    ],
    [`DROP TABLE ${schema}.reservation`, `DROP TABLE ${schema}.inventory`],
  );
}

/** SKUs that belong to one merchant. Null: to all. */
function addStockOwners(schema: string): Migration {
  return migrationOf(
    'AddStockOwners1765100000700',
    [
      `
        ALTER TABLE ${schema}.inventory ADD COLUMN merchant_id text CHECK (length(merchant_id) BETWEEN 1 AND 64)`,
    ],
    [`ALTER TABLE ${schema}.inventory DROP COLUMN merchant_id`],
  );
}

import { type MigrationInterface } from 'typeorm';
import { addStockOwners } from './add-stock-owners';
import { createInventory } from './create-inventory';

/** The migrations of this module, in order. */
export function inventoryMigrations(schema: string): (new () => MigrationInterface)[] {
  return [createInventory(schema), addStockOwners(schema)];
}

import { type MigrationInterface } from 'typeorm';
import { createOutbox } from '../events';
import { inventoryMigrations } from '../inventory';
import { orderMigrations } from '../orders';
import { createTimeouts, indexUndecided, validateSchemaName } from '../timeouts';

/**
 * Every migration of this package, in order, for the given schema.
 *
 * @throws InvalidOptionsError when it cannot be a schema name: it becomes part of SQL text.
 */
export function orderTimeoutMigrations(schema: string): (new () => MigrationInterface)[] {
  validateSchemaName(schema);
  const all = [
    createOutbox(schema),
    createTimeouts(schema),
    indexUndecided(schema),
    ...inventoryMigrations(schema),
    ...orderMigrations(schema),
  ];
  return all.sort((a, b) => timestampOf(a) - timestampOf(b));
}

/** TypeORM's convention: the last 13 characters of the class name. */
function timestampOf({ name }: { readonly name: string }): number {
  return Number(name.slice(-13));
}

import { type MigrationInterface } from 'typeorm';
import { addOutboxAge, createOutbox } from '../outbox';
import { inventoryMigrations } from '../inventory';
import { orderMigrations } from '../orders';
import { createTimeouts, indexUndecided, noteFirstLookUp } from '../timeouts';
import { timestampOf, validateSchemaName } from '../database';

/**
 * All migrations of this package for the given schema, in order.
 *
 * @throws InvalidOptionsError if `schema` is not a valid schema name. It becomes part of SQL text.
 */
export function orderTimeoutMigrations(schema: string): (new () => MigrationInterface)[] {
  validateSchemaName(schema);
  const all = [
    createOutbox(schema),
    addOutboxAge(schema),
    createTimeouts(schema),
    indexUndecided(schema),
    noteFirstLookUp(schema),
    ...inventoryMigrations(schema),
    ...orderMigrations(schema),
  ];
  return all.sort((a, b) => timestampOf(a.name) - timestampOf(b.name));
}

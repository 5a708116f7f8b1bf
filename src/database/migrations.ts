import { type MigrationInterface } from 'typeorm';
import { createOutbox } from '../events';
import { inventoryMigrations } from '../inventory';
import { orderMigrations } from '../orders';
import { createTimeouts } from '../timeouts';

/** Every migration of this package, in order, for the given schema. */
export function orderTimeoutMigrations(schema: string): (new () => MigrationInterface)[] {
  return [createOutbox(schema), createTimeouts(schema), ...inventoryMigrations(schema), ...orderMigrations(schema)];
}

import { type MigrationInterface } from 'typeorm';
import { createOrders } from './create-orders';

/** The migrations of this room, in order. */
export function orderMigrations(schema: string): (new () => MigrationInterface)[] {
  return [createOrders(schema)];
}

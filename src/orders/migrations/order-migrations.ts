import { type MigrationInterface } from 'typeorm';
import { createOrders } from './create-orders';
import { createRefunds } from './create-refunds';

/** The migrations of this room, in order. */
export function orderMigrations(schema: string): (new () => MigrationInterface)[] {
  return [createOrders(schema), createRefunds(schema)];
}

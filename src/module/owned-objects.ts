import { RECORD_TABLES } from '../database';

/** Everything that the migrations leave in the schema. Indexes, constraints, and triggers go with their table. */
export const OWNED_OBJECTS = {
  view: ['orphan_payment'],
  table: [
    'outbox',
    'timeout',
    'engine_setting',
    'reservation',
    'inventory',
    'refund',
    'payment_attempt',
    'order_line',
    'order_history',
    'unmatched_payment',
    'handled_payment',
    'payment_name_key',
    'idempotency_key',
    'orders',
    ...RECORD_TABLES,
  ],
  sequence: ['timeout_generation'],
  function: ['guard_history', 'refuse_history_change', 'payment_name'],
} as const satisfies Record<string, readonly string[]>;

export type OwnedKind = keyof typeof OWNED_OBJECTS;

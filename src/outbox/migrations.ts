import { type Migration, migrationOf } from '../database';

/** The outbox: small by nature, as rows leave as soon as the broker has confirmed them. */
export function createOutbox(schema: string): Migration {
  return migrationOf(
    'CreateOutbox1763600000100',
    [
      `
        CREATE TABLE ${schema}.outbox (
          id           uuid        PRIMARY KEY,
          route        text        NOT NULL CHECK (route IN ('wake-up', 'event')),
          routing_key  text        NOT NULL,
          body         jsonb       NOT NULL,
          traceparent  text,
          deliver_at   timestamptz,
          available_at timestamptz NOT NULL DEFAULT now(),
          attempts     int         NOT NULL DEFAULT 0
        ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)`,
      `CREATE INDEX outbox_available ON ${schema}.outbox (available_at, id)`,
    ],
    [`DROP TABLE ${schema}.outbox`],
  );
}

/**
 * Adds when a row was written, which claims do not change, and why it was parked. A parked row has `available_at` infinity,
 * so the relay of the release before leaves it alone too. Events get an index of their own, so that a claim of
 * events does not read past waiting wake-ups. The default is stored once for all rows: no row is rewritten.
 */
export function addOutboxAge(schema: string): Migration {
  return migrationOf(
    'AddOutboxAge1765300001100',
    [
      `
        ALTER TABLE ${schema}.outbox
          ADD COLUMN created_at timestamptz NOT NULL DEFAULT now(),
          ADD COLUMN parked_reason text`,
      `CREATE INDEX outbox_event ON ${schema}.outbox (available_at, id) WHERE route = 'event'`,
      `CREATE INDEX outbox_parked ON ${schema}.outbox (id) WHERE parked_reason IS NOT NULL`,
    ],
    [
      `UPDATE ${schema}.outbox SET available_at = now() WHERE parked_reason IS NOT NULL`,
      `DROP INDEX ${schema}.outbox_parked, ${schema}.outbox_event`,
      `ALTER TABLE ${schema}.outbox DROP COLUMN parked_reason, DROP COLUMN created_at`,
    ],
  );
}

import { type Migration, migrationOf } from '../database';

/** Pending and parked timeouts. Finished ones are deleted, so the table follows what is pending. */
export function createTimeouts(schema: string): Migration {
  return migrationOf(
    'CreateTimeouts1763600000200',
    [
      // One sequence for all rows: a key that is scheduled, done and scheduled again never repeats a generation.
      `CREATE SEQUENCE ${schema}.timeout_generation CACHE 32`,
      `
        CREATE TABLE ${schema}.timeout (
          kind            text        NOT NULL CHECK (length(kind) BETWEEN 1 AND 100),
          key             text        NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
          generation      bigint      NOT NULL,
          due_at          timestamptz NOT NULL,
          next_attempt_at timestamptz NOT NULL,
          attempts        int         NOT NULL DEFAULT 0,
          lease           uuid,
          state           text        NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'parked')),
          last_error      text,
          payload         jsonb       NOT NULL DEFAULT '{}',
          traceparent     text,
          PRIMARY KEY (kind, key)
        ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)`,
      `
        CREATE INDEX timeout_due ON ${schema}.timeout (kind, next_attempt_at, key) WHERE state = 'pending'`,
      `CREATE INDEX timeout_parked ON ${schema}.timeout (kind, key) WHERE state = 'parked'`,
      // One row a setting that all instances share, e.g. which transport the pending wake-ups were handed to.
      `
        CREATE TABLE ${schema}.engine_setting (
          name text PRIMARY KEY, value text NOT NULL, changed_at timestamptz NOT NULL DEFAULT now())`,
    ],
    [
      `DROP TABLE ${schema}.engine_setting`,
      `DROP TABLE ${schema}.timeout`,
      `DROP SEQUENCE ${schema}.timeout_generation`,
    ],
  );
}

/** Finds the timeout that has been asked about for longest. Only those that are asked again are in it, so it stays small. */
export function indexUndecided(schema: string): Migration {
  return migrationOf(
    'IndexUndecided1765200001000',
    [
      `
        CREATE INDEX timeout_undecided ON ${schema}.timeout (kind, due_at)
         WHERE state = 'pending' AND next_attempt_at > due_at`,
    ],
    [`DROP INDEX ${schema}.timeout_undecided`],
  );
}

/** Since when a timeout is looked up without a result, so that waits need not be counted from when it became due. */
export function noteFirstLookUp(schema: string): Migration {
  return migrationOf(
    'NoteFirstLookUp1766000002400',
    [`ALTER TABLE ${schema}.timeout ADD COLUMN asked_since timestamptz`],
    [`ALTER TABLE ${schema}.timeout DROP COLUMN asked_since`],
  );
}

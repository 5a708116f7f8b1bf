import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Pending and parked timeouts. Finished ones are deleted, so the table follows what is pending. */
export function createTimeouts(schema: string): new () => MigrationInterface {
  return class CreateTimeouts1763600000200 implements MigrationInterface {
    readonly name = 'CreateTimeouts1763600000200';

    async up(runner: QueryRunner): Promise<void> {
      // One sequence for all rows: a key that is scheduled, done and scheduled again never repeats a generation.
      await runner.query(`CREATE SEQUENCE ${schema}.timeout_generation CACHE 32`);
      await runner.query(`
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
        ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)`);
      await runner.query(`
        CREATE INDEX timeout_due ON ${schema}.timeout (kind, next_attempt_at, key) WHERE state = 'pending'`);
      await runner.query(`CREATE INDEX timeout_parked ON ${schema}.timeout (kind, key) WHERE state = 'parked'`);
      // One row a setting that all instances share, e.g. which transport the pending wake-ups were handed to.
      await runner.query(`
        CREATE TABLE ${schema}.engine_setting (
          name text PRIMARY KEY, value text NOT NULL, changed_at timestamptz NOT NULL DEFAULT now())`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP TABLE ${schema}.engine_setting`);
      await runner.query(`DROP TABLE ${schema}.timeout`);
      await runner.query(`DROP SEQUENCE ${schema}.timeout_generation`);
    }
  };
}

/** Finds the timeout that has been asked about for longest. Only those that are asked again are in it, so it stays small. */
export function indexUndecided(schema: string): new () => MigrationInterface {
  return class IndexUndecided1765200001000 implements MigrationInterface {
    readonly name = 'IndexUndecided1765200001000';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`
        CREATE INDEX timeout_undecided ON ${schema}.timeout (kind, due_at)
         WHERE state = 'pending' AND next_attempt_at > due_at`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP INDEX ${schema}.timeout_undecided`);
    }
  };
}

/** Since when a timeout is looked up without a result, so that waits need not be counted from when it became due. */
export function noteFirstLookUp(schema: string): new () => MigrationInterface {
  return class NoteFirstLookUp1766000002400 implements MigrationInterface {
    readonly name = 'NoteFirstLookUp1766000002400';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`ALTER TABLE ${schema}.timeout ADD COLUMN asked_since timestamptz`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`ALTER TABLE ${schema}.timeout DROP COLUMN asked_since`);
    }
  };
}

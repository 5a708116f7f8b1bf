import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** The outbox: small by nature, as rows leave as soon as the broker has confirmed them. */
export function createOutbox(schema: string): new () => MigrationInterface {
  return class CreateOutbox1763600000100 implements MigrationInterface {
    readonly name = 'CreateOutbox1763600000100';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`
        CREATE TABLE ${schema}.outbox (
          id           uuid        PRIMARY KEY,
          route        text        NOT NULL CHECK (route IN ('wake-up', 'event')),
          routing_key  text        NOT NULL,
          body         jsonb       NOT NULL,
          traceparent  text,
          deliver_at   timestamptz,
          available_at timestamptz NOT NULL DEFAULT now(),
          attempts     int         NOT NULL DEFAULT 0
        ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)`);
      await runner.query(`CREATE INDEX outbox_available ON ${schema}.outbox (available_at, id)`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP TABLE ${schema}.outbox`);
    }
  };
}

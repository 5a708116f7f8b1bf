import { type MigrationInterface, type QueryRunner } from 'typeorm';

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

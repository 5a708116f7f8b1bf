import { type MigrationInterface, type QueryRunner } from 'typeorm';

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

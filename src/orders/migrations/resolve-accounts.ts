import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * The merchant account of attempts that were registered without one. The key of their rows stays, because refunds and
 * their numbers depend on it.
 */
export function resolveAccounts(schema: string): new () => MigrationInterface {
  return class ResolveAccounts1766000002200 implements MigrationInterface {
    readonly name = 'ResolveAccounts1766000002200';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`ALTER TABLE ${schema}.payment_attempt ADD COLUMN resolved_account text`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`ALTER TABLE ${schema}.payment_attempt DROP COLUMN resolved_account`);
    }
  };
}

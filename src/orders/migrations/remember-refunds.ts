import { type MigrationInterface, type QueryRunner } from 'typeorm';

/** Lets what is left of the payments of an erased or purged order say that one was refunded, which may fail later. */
export function rememberRefunds(schema: string): new () => MigrationInterface {
  return class RememberRefunds1766000002600 implements MigrationInterface {
    readonly name = 'RememberRefunds1766000002600';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(fateSql(schema, ['settled', 'booked', 'refunded']));
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`UPDATE ${schema}.handled_payment SET fate = 'booked' WHERE fate = 'refunded'`);
      await runner.query(fateSql(schema, ['settled', 'booked']));
    }
  };
}

/** NOT VALID: all rows fit, and reading a large table would hold its lock. */
function fateSql(schema: string, fates: readonly string[]): string {
  const list = fates.map((fate) => `'${fate}'`).join(', ');
  return `
    ALTER TABLE ${schema}.handled_payment DROP CONSTRAINT handled_payment_fate_check,
      ADD CONSTRAINT handled_payment_fate_check CHECK (fate IN (${list})) NOT VALID`;
}

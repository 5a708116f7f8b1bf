import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { rememberSettledSql } from '../sql/handled-payments';

/**
 * Creates what is left of payments whose orders were erased or purged, or that a person has settled: a keyed hash of each
 * of their names. The key is random, and never leaves the schema.
 */
export function rememberPayments(schema: string): new () => MigrationInterface {
  return class RememberPayments1766000001900 implements MigrationInterface {
    readonly name = 'RememberPayments1766000001900';

    async up(runner: QueryRunner): Promise<void> {
      for (const statement of [...tables(schema), functionSql(schema)]) await runner.query(statement);
      // What was settled before, and belongs to no attempt.
      await runner.query(rememberSettledSql(schema, `p.handling = 'settled' AND p.reason = 'unknown-order'`));
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP FUNCTION ${schema}.payment_name(text, text)`);
      await runner.query(`DROP TABLE ${schema}.handled_payment`);
      await runner.query(`DROP TABLE ${schema}.payment_name_key`);
    }
  };
}

function tables(schema: string): string[] {
  return [
    `CREATE TABLE ${schema}.payment_name_key (
       id  int   PRIMARY KEY DEFAULT 1 CHECK (id = 1),
       key bytea NOT NULL
     )`,
    // 244 random bits, because a UUID has 6 that are fixed.
    `INSERT INTO ${schema}.payment_name_key (key)
     SELECT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')`,
    `CREATE TABLE ${schema}.handled_payment (
       reference        bytea          NOT NULL,
       transaction      bytea,
       merchant_account text           NOT NULL,
       amount           bigint,
       currency         text,
       source           text           NOT NULL CHECK (source IN ('report', 'provider')),
       fate             text           NOT NULL CHECK (fate IN ('settled', 'booked')),
       order_id         text,
       created_at       timestamptz(3) NOT NULL DEFAULT now()
     )`,
    `CREATE INDEX handled_payment_reference ON ${schema}.handled_payment (reference)`,
    `CREATE INDEX handled_payment_transaction ON ${schema}.handled_payment (transaction) WHERE transaction IS NOT NULL`,
  ];
}

/** Without the key, nothing is hashed: inserting fails, because a name is missing. Hashed twice, as HMAC does. */
function functionSql(schema: string): string {
  return `
    CREATE FUNCTION ${schema}.payment_name(provider text, name text) RETURNS bytea LANGUAGE sql STABLE AS $$
      SELECT sha256(k.key || sha256(k.key || convert_to($1 || E'\\n' || $2, 'UTF8'))) FROM ${schema}.payment_name_key k
    $$`;
}

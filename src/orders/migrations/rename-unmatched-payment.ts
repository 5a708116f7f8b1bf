import { type MigrationInterface, type QueryRunner } from 'typeorm';

const FORMER = 'orphan_payment';
const NAME = 'unmatched_payment';

/**
 * Renames `orphan_payment`. A view of the old name stays for one release, so that instances of the release before can
 * read and write. The view has `ctid` too, because their purge finds rows by it.
 *
 * What it reads of the catalog is read by PostgreSQL itself, so that the migration can be printed as SQL.
 */
export function renameUnmatchedPayment(schema: string): new () => MigrationInterface {
  return class RenameUnmatchedPayment1765400001200 implements MigrationInterface {
    readonly name = 'RenameUnmatchedPayment1765400001200';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`ALTER TABLE ${schema}.orphan_payment RENAME TO unmatched_payment`);
      await runner.query(renamePartsSql(schema, FORMER, NAME));
      await runner.query(`CREATE VIEW ${schema}.orphan_payment AS SELECT *, ctid FROM ${schema}.unmatched_payment`);
      await runner.query(copyRightsSql(schema));
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP VIEW ${schema}.orphan_payment`);
      await runner.query(renamePartsSql(schema, NAME, FORMER));
      await runner.query(`ALTER TABLE ${schema}.unmatched_payment RENAME TO orphan_payment`);
    }
  };
}

/**
 * Renames the constraints and indexes of the table that begin with `from`. The index of a constraint goes with it. A
 * host may have added some, with names that need quotes.
 */
function renamePartsSql(schema: string, from: string, to: string): string {
  const renamed = (name: string): string => `'${to}' || substr(${name}, length('${from}') + 1)`;
  return `
    DO $$
    DECLARE part record;
    BEGIN
      FOR part IN SELECT conname AS name, ${renamed('conname')} AS renamed FROM pg_constraint
                   WHERE conrelid = '${schema}.unmatched_payment'::regclass AND starts_with(conname::text, '${from}') LOOP
        EXECUTE format('ALTER TABLE ${schema}.unmatched_payment RENAME CONSTRAINT %I TO %I', part.name, part.renamed);
      END LOOP;
      FOR part IN SELECT c.relname AS name, ${renamed('c.relname')} AS renamed
                    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                   WHERE i.indrelid = '${schema}.unmatched_payment'::regclass
                     AND starts_with(c.relname::text, '${from}') LOOP
        EXECUTE format('ALTER INDEX ${schema}.%I RENAME TO %I', part.name, part.renamed);
      END LOOP;
    END $$`;
}

/**
 * Gives the view to the owner of the table, and grants on it what others may do with the table. The role that migrates
 * may be neither of the roles that use the view.
 */
function copyRightsSql(schema: string): string {
  return `
    DO $$
    DECLARE owner text; right_of record;
    BEGIN
      SELECT pg_get_userbyid(relowner) INTO STRICT owner FROM pg_class
       WHERE oid = '${schema}.unmatched_payment'::regclass;
      EXECUTE format('ALTER VIEW ${schema}.orphan_payment OWNER TO %I', owner);
      FOR right_of IN
          SELECT g.privilege_type AS privilege,
                 CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS grantee
            FROM pg_class t, aclexplode(t.relacl) g
           WHERE t.oid = '${schema}.unmatched_payment'::regclass AND g.grantee <> t.relowner
             AND g.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') LOOP
        EXECUTE format('GRANT %s ON ${schema}.orphan_payment TO %s', right_of.privilege, right_of.grantee);
      END LOOP;
    END $$`;
}

import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { present } from '../../errors';

const FORMER = 'orphan_payment';
const NAME = 'unmatched_payment';

const CONSTRAINTS = `
  SELECT quote_ident(conname) AS name, quote_ident($3 || substr(conname, length($2) + 1)) AS renamed
    FROM pg_constraint WHERE conrelid = $1::regclass AND starts_with(conname::text, $2)`;
const INDEXES = `
  SELECT quote_ident(c.relname) AS name, quote_ident($3 || substr(c.relname, length($2) + 1)) AS renamed
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
   WHERE i.indrelid = $1::regclass AND starts_with(c.relname::text, $2)`;
const OWNER = 'SELECT quote_ident(pg_get_userbyid(relowner)) AS owner FROM pg_class WHERE oid = $1::regclass';
const GRANTS = `
  SELECT g.privilege_type AS privilege,
         CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS grantee
    FROM pg_class t, aclexplode(t.relacl) g
   WHERE t.oid = $1::regclass AND g.grantee <> t.relowner
     AND g.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')`;

interface Rename {
  /** Quoted where SQL needs it, because a host may have added an index or a constraint. */
  readonly name: string;
  readonly renamed: string;
}

interface Grant {
  readonly privilege: string;
  /** A role, quoted where SQL needs it, or PUBLIC. */
  readonly grantee: string;
}

/**
 * Renames `orphan_payment`. A view of the old name stays for one release, so that instances of the release before can
 * read and write. The view has `ctid` too, because their purge finds rows by it.
 */
export function renameUnmatchedPayment(schema: string): new () => MigrationInterface {
  return class RenameUnmatchedPayment1765400001200 implements MigrationInterface {
    readonly name = 'RenameUnmatchedPayment1765400001200';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`ALTER TABLE ${schema}.orphan_payment RENAME TO unmatched_payment`);
      await renameParts(runner, `${schema}.unmatched_payment`, FORMER, NAME);
      await runner.query(`CREATE VIEW ${schema}.orphan_payment AS SELECT *, ctid FROM ${schema}.unmatched_payment`);
      await copyRights(runner, `${schema}.unmatched_payment`, `${schema}.orphan_payment`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP VIEW ${schema}.orphan_payment`);
      await renameParts(runner, `${schema}.unmatched_payment`, NAME, FORMER);
      await runner.query(`ALTER TABLE ${schema}.unmatched_payment RENAME TO orphan_payment`);
    }
  };
}

/** Renames the constraints and indexes of a table that begin with `from`. The index of a constraint goes with it. */
async function renameParts(runner: QueryRunner, table: string, from: string, to: string): Promise<void> {
  for (const { name, renamed } of await runner.manager.query<Rename[]>(CONSTRAINTS, [table, from, to]))
    await runner.query(`ALTER TABLE ${table} RENAME CONSTRAINT ${name} TO ${renamed}`);
  const [schema] = table.split('.');
  for (const { name, renamed } of await runner.manager.query<Rename[]>(INDEXES, [table, from, to]))
    await runner.query(`ALTER INDEX ${schema}.${name} RENAME TO ${renamed}`);
}

/**
 * Gives the view to the owner of the table, and grants on it what others may do with the table. The role that migrates
 * may be neither of the roles that use the view.
 */
async function copyRights(runner: QueryRunner, table: string, view: string): Promise<void> {
  const [owned] = await runner.manager.query<{ owner: string }[]>(OWNER, [table]);
  await runner.query(`ALTER VIEW ${view} OWNER TO ${present(owned, `the owner of ${table}`).owner}`);
  for (const { privilege, grantee } of await runner.manager.query<Grant[]>(GRANTS, [table]))
    await runner.query(`GRANT ${privilege} ON ${view} TO ${grantee}`);
}

import { type DataSource } from 'typeorm';
import { ownQuery, rehearse } from '../../database';
import { MissingRightsError } from './missing-rights-error';
import { MissingTablesError } from './missing-tables-error';

/** What the engine does with its own tables, in every process. */
const ENGINE: Readonly<Record<string, readonly string[]>> = {
  timeout: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  outbox: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  engine_setting: ['SELECT', 'INSERT', 'UPDATE'],
  timeout_generation: ['USAGE'],
};
/** What is done with all other tables of the package; which of them are updated differs. */
const OTHERS = ['SELECT', 'INSERT'];
const MIGRATIONS = '%migrations';

interface Wanted {
  readonly name: string;
  readonly privilege: string;
  readonly present: boolean;
  readonly granted: boolean;
  readonly usage: boolean;
  readonly user: string;
  readonly database: string;
}

const SQL = `
  SELECT w.name, w.privilege, c.oid IS NOT NULL AS present, quote_ident(current_user) AS user,
         current_database() AS database,
         CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, w.privilege)
                        ELSE has_table_privilege(c.oid, w.privilege) END AS granted,
         has_schema_privilege(c.relnamespace, 'USAGE') AS usage
    FROM (SELECT * FROM unnest($2::text[], $3::text[]) AS engine(name, privilege)
          UNION ALL
          SELECT relname, unnest($4::text[]) FROM pg_class
           WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relkind = 'r'
             AND relname <> ALL($2::text[]) AND relname NOT LIKE $5) AS w
    LEFT JOIN pg_class c
      ON c.relname = w.name AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
   ORDER BY w.name, w.privilege`;

/**
 * Looks whether the tables of `schema` are there and may be used.
 *
 * @param which the engine's own, or all that the schema has
 * @throws MissingTablesError, MissingRightsError with what is missing and the SQL that grants it
 */
export async function assertTables(dataSource: DataSource, schema: string, which: 'engine' | 'all'): Promise<void> {
  const pairs = Object.entries(ENGINE).flatMap(([name, privileges]) => privileges.map((one) => [name, one] as const));
  const wanted = await ownQuery<Wanted[]>(dataSource, SQL, [
    schema,
    pairs.map(([name]) => name),
    pairs.map(([, privilege]) => privilege),
    which === 'all' ? OTHERS : [],
    MIGRATIONS,
  ]);
  const [first] = wanted;
  if (!first) return;
  const missing = new Set(wanted.filter(({ present }) => !present).map(({ name }) => name));
  if (missing.size > 0) throw new MissingTablesError(first.database, schema, `the tables ${[...missing].join(', ')}`);
  const lacking = wanted.filter(({ granted }) => !granted).map(({ name, privilege }) => `${privilege} on ${name}`);
  if (first.usage && lacking.length === 0) return;
  throw MissingRightsError.toUse(schema, first.user, first.usage ? lacking.join(', ') : 'USAGE');
}

/**
 * Writes 64 kB and rolls them back: a question does not show that the disk is full.
 *
 * @throws what the database says
 */
export async function rehearseWrite(dataSource: DataSource, schema: string): Promise<void> {
  await rehearse(dataSource, (tx) =>
    tx.query(`INSERT INTO ${schema}.engine_setting (name, value)
      SELECT gen_random_uuid()::text, string_agg(md5(random()::text), '') FROM generate_series(1, 2048)`),
  );
}

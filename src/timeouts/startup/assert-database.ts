import { Logger, type Type } from '@nestjs/common';
import { type DataSource, type EntityManager } from 'typeorm';
import { type ModulesContainer } from '@nestjs/core';
import { ownQuery, rehearse } from '../../database';
import { CodedError } from '../../errors';
import { type ResolvedTimeoutsOptions } from '../model/timeouts-options';
import {
  MissingRightsError,
  MissingTablesError,
  SharedSchemaError,
  NotATestDatabaseError,
  UnsuitableDatabaseError,
  MissingTimeoutHandlerError,
} from '../model/errors';
import { EngineSettings } from '../message-path/wake-up-republisher';
import { TimeoutQueries } from '../scheduling/timeout-scheduler';

const logger = new Logger('Start');

/**
 * Also says once what the pool lacks.
 *
 * @throws UnsuitableDatabaseError, SharedSchemaError, MissingTablesError, MissingRightsError, or NotATestDatabaseError when the
 * engine cannot run on this database.
 */
export async function assertDatabase(options: ResolvedTimeoutsOptions): Promise<void> {
  const { dataSource, schema, ownsDatabase, isDrivenByTests } = options;
  await refuseUnsuitable(dataSource);
  if (!ownsDatabase) await refuseSharedSchema(dataSource, schema);
  await assertTables(dataSource, schema, 'engine');
  if (isDrivenByTests) return refuseUsedDatabase(options);
  const gaps = poolGaps(dataSource);
  if (gaps !== undefined) logger.warn(gaps);
}

/** @throws UnsuitableDatabaseError if texts cannot be stored, or dates not read. */
async function refuseUnsuitable(dataSource: DataSource): Promise<void> {
  const [settings] = await ownQuery<{ encoding: string; dates: string; user: string; database: string }[]>(
    dataSource,
    `SELECT current_setting('server_encoding') AS encoding, current_setting('DateStyle') AS dates,
            quote_ident(current_user) AS user, quote_ident(current_database()) AS database`,
  );
  if (!settings) return;
  const { encoding, dates, user, database } = settings;
  if (encoding !== 'UTF8') {
    throw new UnsuitableDatabaseError(
      `the database ${database} has the encoding ${encoding}, which lacks characters that orders may contain; ` +
        `move to a new one: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0;`,
    );
  }
  if (!dates.startsWith('ISO')) {
    throw new UnsuitableDatabaseError(
      `DateStyle is "${dates}", and the driver reads only ISO dates; set \`extra.Client\` of your DataSource to ` +
        `ResilientClient or PreparingClient, or run: ALTER ROLE ${user} IN DATABASE ${database} SET datestyle = 'ISO';`,
    );
  }
}

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
  /** Row-level security hides rows. */
  readonly hidden: boolean;
  readonly usage: boolean;
  readonly user: string;
  readonly database: string;
}

const SQL = `
  SELECT w.name, w.privilege, c.oid IS NOT NULL AS present, quote_ident(current_user) AS user,
         current_database() AS database,
         CASE c.relkind WHEN 'S' THEN has_sequence_privilege(c.oid, w.privilege)
                        ELSE has_table_privilege(c.oid, w.privilege) END AS granted,
         row_security_active(c.oid) AS hidden,
         has_schema_privilege(c.relnamespace, 'USAGE') AS usage
    FROM (SELECT * FROM unnest($2::text[], $3::text[]) AS engine(name, privilege)
          UNION ALL
          SELECT relname, unnest($4::text[]) FROM pg_class
           WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relkind = 'r'
             AND relname <> ALL($2::text[]) AND relname NOT LIKE $5) AS w
    LEFT JOIN pg_class c
      ON c.relname = w.name AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
  UNION ALL
  SELECT proname, 'EXECUTE', true, quote_ident(current_user), current_database(), has_function_privilege(oid, 'EXECUTE'), false,
         has_schema_privilege(pronamespace, 'USAGE')
    FROM pg_proc
   WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND prorettype <> 'trigger'::regtype
     AND cardinality($4::text[]) > 0
   ORDER BY name, privilege`;

/**
 * Looks whether the tables of `schema` are there, may be used, and show all rows.
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
  if (!first.usage || lacking.length > 0)
    throw MissingRightsError.toUse(schema, first.user, first.usage ? lacking.join(', ') : 'USAGE');
  const hidden = new Set(wanted.flatMap(({ hidden, name }) => (hidden ? [name] : [])));
  if (hidden.size > 0) throw MissingRightsError.toSee(schema, first.user, [...hidden]);
}

/**
 * Writes 64 kB, because a question does not show that the disk is full, and what `write` writes; then rolls both back.
 *
 * @throws what the database says
 */
export async function rehearseWrite(
  dataSource: DataSource,
  schema: string,
  write: (tx: EntityManager) => Promise<void>,
): Promise<void> {
  await rehearse(dataSource, async (tx) => {
    await tx.query(`INSERT INTO ${schema}.engine_setting (name, value)
      SELECT gen_random_uuid()::text, string_agg(md5(random()::text), '') FROM generate_series(1, 2048)`);
    await write(tx);
  });
}

interface PoolOptions {
  readonly Client?: unknown;
  readonly query_timeout?: unknown;
  readonly keepAlive?: unknown;
  readonly connectionTimeoutMillis?: unknown;
}

const REMEDY = 'see "Your pool" in docs/database.md';

/** What a pool lacks to survive a server that stops or falls silent, as one sentence for the log. Undefined: nothing. */
export function poolGaps({ options }: Pick<DataSource, 'options'>): string | undefined {
  const extra = (options.extra ?? {}) as PoolOptions;
  const hasOwnClient = extra.Client !== undefined;
  const connectTimeoutMs = 'connectTimeoutMS' in options ? options.connectTimeoutMS : undefined;
  const gaps = [
    hasOwnClient ? '' : 'Client (an error between two users of a connection ends the process)',
    extra.query_timeout ? '' : 'query_timeout (your statements wait for a silent server forever)',
    hasOwnClient || extra.keepAlive ? '' : 'keepAlive',
    hasOwnClient || extra.connectionTimeoutMillis || connectTimeoutMs ? '' : 'connectTimeoutMS',
  ].filter((gap) => gap !== '');
  return gaps.length === 0 ? undefined : `the pool of the DataSource has no ${gaps.join(', no ')}: ${REMEDY}`;
}

/** @throws SharedSchemaError when what the host creates without naming a schema goes into ours. */
export async function refuseSharedSchema(host: DataSource, schema: string): Promise<void> {
  if ('schema' in host.options && host.options.schema === schema) {
    throw new SharedSchemaError(
      schema,
      `the option "schema" of the DataSource is "${schema}", which is our schema, so your own tables would be created ` +
        `among ours; give your DataSource another schema, or set the option "schema" of this module`,
    );
  }
  await refuseCurrentSchema(host, schema);
}

/** @throws SharedSchemaError when the connection's `search_path` begins with our schema. */
export async function refuseCurrentSchema(
  connection: Pick<DataSource | EntityManager, 'query'>,
  schema: string,
): Promise<void> {
  const [row] = await connection.query<{ current: string | null; role: string; path: string }[]>(
    `SELECT current_schema() AS current, quote_ident(current_user) AS role, current_setting('search_path') AS path`,
  );
  if (row?.current !== schema) return;
  throw new SharedSchemaError(
    schema,
    `"${schema}", our schema, is the current one of the database user ${row.role} (search_path is ${row.path}), so your ` +
      `own tables would be created among ours; run: ALTER ROLE ${row.role} SET search_path = public; or connect as a ` +
      'user with another name',
  );
}

/** An engine that runs records its message path; one that tests drive does not. @throws NotATestDatabaseError */
async function refuseUsedDatabase({ dataSource, schema }: ResolvedTimeoutsOptions): Promise<void> {
  const path = await new EngineSettings(schema).read(dataSource, 'message-path');
  if (path !== undefined) throw new NotATestDatabaseError(dataSource.driver.database ?? '', schema);
}

/** @throws MissingTimeoutHandlerError if the database holds timeouts of a kind that has no handler in this process. */
export async function refuseMissingHandlers(
  { dataSource, schema }: Pick<ResolvedTimeoutsOptions, 'dataSource' | 'schema'>,
  handled: readonly string[],
): Promise<void> {
  const rows = await ownQuery<{ kind: string }[]>(dataSource, new TimeoutQueries(schema).kinds);
  const missing = rows.map(({ kind }) => kind).filter((kind) => !handled.includes(kind));
  if (missing.length > 0) throw new MissingTimeoutHandlerError(missing);
}

/** Two imports of a module would run two engines on the same tables and queues. */
class ImportedTwiceError extends CodedError {
  constructor(module: string, count: number, importers: readonly string[]) {
    const by = importers.length > 0 ? ` (by ${importers.join(' and ')})` : '';
    super(
      'IMPORTED_TWICE',
      `${module} is imported ${count} times${by}; import it once, in the root module: it is global, and ` +
        'OrderTimeoutModule brings TimeoutsModule along',
    );
  }
}

/** @throws ImportedTwiceError when the application has made `module` more than once. */
export function refuseSecondImport(modules: ModulesContainer, module: Type): void {
  const all = [...modules.values()];
  const count = all.filter(({ metatype }) => metatype === module).length;
  if (count < 2) return;
  const importers = all.filter(({ metatype }) => importsOf(metatype).some((one) => moduleOf(one) === module));
  throw new ImportedTwiceError(
    module.name,
    count,
    importers.map(({ metatype }) => metatype.name),
  );
}

/** What its decorator names: Nest itself adds global modules to the imports of every module. */
function importsOf(metatype: object): unknown[] {
  return (Reflect.getMetadata('imports', metatype) as unknown[] | undefined) ?? [];
}

function moduleOf(imported: unknown): unknown {
  const isDynamic = typeof imported === 'object' && imported !== null && 'module' in imported;
  return isDynamic ? imported.module : imported;
}

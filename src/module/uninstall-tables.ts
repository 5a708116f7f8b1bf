import { type DataSource, type EntityManager } from 'typeorm';
import { ownTransaction, validateSchemaName } from '../database';
import { OWNED_OBJECTS, type OwnedKind } from './owned-objects';

/** An object of the schema, such as `table orders`. */
export interface SchemaObject {
  readonly kind: OwnedKind;
  readonly name: string;
}

/** What the schema has of ours, and of others. */
export interface InstalledObjects {
  readonly ours: readonly SchemaObject[];
  /** They keep the schema from being dropped. */
  readonly others: readonly SchemaObject[];
}

/** Sequences of a column go with their table. */
const OBJECTS = `
  SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'table' END AS kind, c.relname::text AS name
    FROM pg_class c
   WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i'))
  UNION ALL
  SELECT 'function', p.proname::text FROM pg_proc p
   WHERE p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
   ORDER BY 1, 2`;

/** Views first, because they depend on tables; functions after the triggers of the tables. */
const ORDER: readonly OwnedKind[] = ['view', 'table', 'sequence', 'function'];

/** Reads what the schema has. Nothing, if there is no such schema. */
export async function readInstalledObjects(
  on: Pick<DataSource | EntityManager, 'query'>,
  schema: string,
): Promise<InstalledObjects> {
  const objects = await on.query<SchemaObject[]>(OBJECTS, [schema]);
  return { ours: objects.filter(isOurs), others: objects.filter((object) => !isOurs(object)) };
}

/**
 * Drops our objects in one transaction, and the schema if nothing else is in it. Without CASCADE: if an object of
 * somebody else depends on one of ours, PostgreSQL's error names both, and nothing is dropped.
 */
export function uninstallTables(dataSource: DataSource, schema: string): Promise<InstalledObjects> {
  validateSchemaName(schema);
  return ownTransaction(
    dataSource,
    async (tx) => {
      const installed = await readInstalledObjects(tx, schema);
      for (const kind of ORDER) await drop(tx, schema, installed.ours, kind);
      if (installed.others.length === 0) await tx.query(`DROP SCHEMA IF EXISTS ${schema}`);
      return installed;
    },
    // Behind a running instance or a pg_dump, all others would queue behind this.
    { lockMs: 5_000 },
  );
}

async function drop(tx: EntityManager, schema: string, ours: readonly SchemaObject[], kind: OwnedKind): Promise<void> {
  const names = ours.filter((object) => object.kind === kind).map(({ name }) => `${schema}.${name}`);
  if (names.length > 0) await tx.query(`DROP ${kind.toUpperCase()} ${names.join(', ')}`);
}

function isOurs({ kind, name }: SchemaObject): boolean {
  return (OWNED_OBJECTS[kind] as readonly string[]).includes(name);
}

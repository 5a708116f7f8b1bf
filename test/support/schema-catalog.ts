import { type DataSource } from 'typeorm';

/** What earlier releases lean on in a schema. */
export interface SchemaCatalog {
  /** Tables, views, sequences, plain indexes and functions, by `kind name`; of functions with their text. */
  readonly objects: ReadonlyMap<string, string>;
  /** Columns by `table.column`. */
  readonly columns: ReadonlyMap<string, Column>;
  /** What limits rows that are written: constraints, unique indexes and triggers, by `table: name`. */
  readonly limits: ReadonlyMap<string, Limit>;
}

interface Column {
  readonly type: string;
  /** False: a row that leaves it out is refused. */
  readonly optional: boolean;
  readonly nullable: boolean;
}

interface Limit {
  readonly table: string;
  readonly text: string;
  /** Of its table; empty when it may look at all. */
  readonly columns: readonly string[];
}

const OBJECTS = `
  SELECT relkind::text || ' ' || relname AS name, '' AS value FROM pg_class c
   WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'i')
     AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indexrelid = c.oid AND i.indisunique)
  UNION ALL
  SELECT 'function ' || p.oid::regprocedure, pg_get_functiondef(p.oid) FROM pg_proc p
   WHERE pronamespace = $1::regnamespace`;
const COLUMNS = `
  SELECT c.relname || '.' || a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, NOT a.attnotnull AS nullable,
         NOT a.attnotnull OR a.atthasdef OR a.attidentity <> '' AS optional
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
   WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped`;
const NAMES = (numbers: string, relation: string): string =>
  `ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = ${relation} AND a.attnum = ANY (${numbers}) ORDER BY 1)`;
const LIMITS = `
  SELECT c.relname AS "table", n.conname AS name, pg_get_constraintdef(n.oid) AS text, ${NAMES('n.conkey', 'c.oid')} AS columns
    FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid WHERE c.relnamespace = $1::regnamespace
  UNION ALL
  SELECT c.relname, x.relname, pg_get_indexdef(x.oid), ${NAMES('i.indkey', 'c.oid')}
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_class c ON c.oid = i.indrelid
   WHERE c.relnamespace = $1::regnamespace AND i.indisunique
     AND NOT EXISTS (SELECT 1 FROM pg_constraint n WHERE n.conindid = x.oid)
  UNION ALL
  SELECT c.relname, t.tgname, pg_get_triggerdef(t.oid), '{}'
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = $1::regnamespace AND NOT t.tgisinternal`;

/** Views through which all of a table can be read and written, with the columns that can. */
const FORMER_NAMES = `
  SELECT v.relname AS former, t.relname AS name,
         ARRAY(SELECT a.attname::text FROM pg_attribute a
                WHERE a.attrelid = v.oid AND a.attnum > 0 AND pg_column_is_updatable(v.oid, a.attnum, false)) AS columns
    FROM pg_class v
    JOIN pg_rewrite r ON r.ev_class = v.oid
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
    JOIN pg_class t ON t.oid = d.refobjid AND t.relkind = 'r'
   WHERE v.relnamespace = $1::regnamespace AND v.relkind = 'v' AND pg_relation_is_updatable(v.oid, false) & 28 = 28
   GROUP BY v.oid, v.relname, t.relname`;

interface FormerName {
  readonly former: string;
  readonly name: string;
  readonly columns: readonly string[];
}

export async function readCatalog(dataSource: DataSource, schema: string): Promise<SchemaCatalog> {
  const [objects, columns, limits] = [
    await dataSource.query<{ name: string; value: string }[]>(OBJECTS, [schema]),
    await dataSource.query<(Column & { name: string })[]>(COLUMNS, [schema]),
    await dataSource.query<(Limit & { name: string })[]>(LIMITS, [schema]),
  ];
  const catalog = {
    objects: new Map(objects.map(({ name, value }) => [name, value])),
    columns: new Map(columns.map(({ name, ...column }) => [name, column])),
    limits: new Map(limits.map(({ name, ...limit }) => [`${limit.table}: ${name}`, limit])),
  };
  const former = await dataSource.query<FormerName[]>(FORMER_NAMES, [schema]);
  return former.reduce(withFormerName, catalog);
}

/** A renamed table with a view of its former name has both names, and so have its columns, limits, and indexes. */
function withFormerName(catalog: SchemaCatalog, { former, name, columns }: FormerName): SchemaCatalog {
  const before = (text: string): string => (text.startsWith(name) ? former + text.slice(name.length) : text);
  const indexes = [...catalog.objects].flatMap(([key]) =>
    key.startsWith(`i ${name}`) ? [`i ${before(key.slice(2))}`] : [],
  );
  const ofTable = columns.flatMap((column) => {
    const stored = catalog.columns.get(`${name}.${column}`);
    return stored ? [[`${former}.${column}`, stored] as const] : [];
  });
  const limits = [...catalog.limits].flatMap(([key, limit]) =>
    limit.table === name
      ? [[`${former}: ${before(key.slice(name.length + 2))}`, { ...limit, table: former }] as const]
      : [],
  );
  return {
    objects: new Map([...catalog.objects, [`r ${former}`, ''], ...indexes.map((index) => [index, ''] as const)]),
    columns: new Map([...catalog.columns, ...ofTable]),
    limits: new Map([...catalog.limits, ...limits]),
  };
}

/** What a release made for `before` would meet on `after`: each a sentence; none when it works there. */
export function findBreaks(before: SchemaCatalog, after: SchemaCatalog): string[] {
  return [...changedObjects(before, after), ...changedColumns(before, after), ...changedLimits(before, after)];
}

function changedObjects(before: SchemaCatalog, after: SchemaCatalog): string[] {
  return [...before.objects].flatMap(([name, value]) => {
    const now = after.objects.get(name);
    if (now === undefined) return [`${name} is gone`];
    return now === value ? [] : [`${name} is another one`];
  });
}

function changedColumns(before: SchemaCatalog, after: SchemaCatalog): string[] {
  const earlier = [...before.columns].flatMap(([name, column]) => {
    const now = after.columns.get(name);
    if (!now) return [`column ${name} is gone`];
    if (now.type !== column.type) return [`column ${name} was ${column.type} and is ${now.type}`];
    if (column.optional && !now.optional) return [`column ${name} may not be left out any more`];
    return column.nullable && !now.nullable ? [`column ${name} may not be null any more`] : [];
  });
  const added = [...after.columns].flatMap(([name, { optional }]) => {
    const isOnOld = hasTable(before, name.split('.')[0] ?? '');
    return isOnOld && !before.columns.has(name) && !optional ? [`the new column ${name} has no default`] : [];
  });
  return [...earlier, ...added];
}

function changedLimits(before: SchemaCatalog, after: SchemaCatalog): string[] {
  const earlier = [...before.limits].flatMap(([name, limit]) => {
    const now = after.limits.get(name);
    if (!now) return [`${name} is gone`];
    return isSameOrWider(limit.text, now.text) ? [] : [`${name} is another one`];
  });
  const added = [...after.limits].flatMap(([name, { table, columns }]) => {
    const isOnNew = columns.length > 0 && columns.every((column) => !before.columns.has(`${table}.${column}`));
    return !hasTable(before, table) || before.limits.has(name) || isOnNew ? [] : [`${name} is new`];
  });
  return [...earlier, ...added];
}

const hasTable = (catalog: SchemaCatalog, table: string): boolean => catalog.objects.has(`r ${table}`);

/** Equal, or a list of words with more of them. NOT VALID leaves only rows alone that are there already. */
function isSameOrWider(before: string, now: string): boolean {
  if (before === now) return true;
  const after = now.replace(/ NOT VALID$/, '');
  const WORD = /'([^']*)'::text(, )?/g;
  const [was, is] = [before, after].map((text) => new Set([...text.matchAll(WORD)].map(([, word]) => word)));
  const isListLike = before.replace(WORD, '') === after.replace(WORD, '') && (was?.size ?? 0) > 1;
  return isListLike && [...(was ?? [])].every((word) => is?.has(word));
}

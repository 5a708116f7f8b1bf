import { InvalidOptionsError } from '../errors';

const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;
/** Key words that PostgreSQL takes for a name only in quotes. */
const RESERVED = new Set(
  (
    'all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation ' +
    'column concurrently constraint create cross current_catalog current_date current_role current_schema current_time ' +
    'current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze ' +
    'from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit ' +
    'localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references ' +
    'returning right select session_user similar some symmetric system_user table tablesample then to trailing true ' +
    'union unique user using variadic verbose when where window with'
  ).split(' '),
);

/** What is wrong with a schema name; it is part of SQL text, so only plain lower-case names are let through. */
export function findSchemaNameProblems(schema: string): string[] {
  if (SCHEMA_NAME.test(schema) && !RESERVED.has(schema) && !schema.startsWith('pg_')) return [];
  const got = JSON.stringify(schema);
  return [`schema must match ${SCHEMA_NAME.source} and be no key word of SQL (got ${got}), e.g. "order_timeout"`];
}

/** @throws InvalidOptionsError when it cannot be a schema name. */
export function validateSchemaName(schema: string): string {
  const problems = findSchemaNameProblems(schema);
  if (problems.length > 0) throw new InvalidOptionsError('database', problems);
  return schema;
}

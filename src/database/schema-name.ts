import { InvalidOptionsError } from '../errors';

const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** The schema name is part of SQL text, so only plain lower-case names are let through. */
export function validateSchemaName(schema: string): string {
  if (SCHEMA_NAME.test(schema)) return schema;
  throw new InvalidOptionsError('database', [
    `schema must match ${SCHEMA_NAME.source} (got ${JSON.stringify(schema)}), e.g. "order_timeout"`,
  ]);
}

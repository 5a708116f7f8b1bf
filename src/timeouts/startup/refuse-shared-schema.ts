import { type DataSource, type EntityManager } from 'typeorm';
import { SharedSchemaError } from './shared-schema-error';

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

import { type DataSource } from 'typeorm';
import { isPermissionDenied } from '../database';
import { MissingRightsError } from '../timeouts';

/** @throws MissingRightsError if `error` means that our tables may not be read. Otherwise throws `error`. */
export async function refuseUse(host: DataSource, schema: string, error: unknown): Promise<never> {
  if (!isPermissionDenied(error)) throw error;
  const { user } = await factsOf(host, schema);
  throw MissingRightsError.toUse(schema, user, 'the right to read our tables');
}

/**
 * @throws MissingRightsError if `error` means that our tables may not be created or changed. Otherwise throws `error`.
 */
export async function refuseChange(host: DataSource, schema: string, error: unknown): Promise<never> {
  if (!isPermissionDenied(error)) throw error;
  const { user, database, present } = await factsOf(host, schema);
  const why = error instanceof Error ? error.message : String(error);
  const separately = `call migrate(dataSource, '${schema}') as the owner of the tables and start with migrate: false`;
  const remedy = present
    ? separately
    : `run as an administrator: CREATE SCHEMA ${schema} AUTHORIZATION ${user}; or ${separately}`;
  throw new MissingRightsError(
    `the database user ${user} may not create or change our tables in schema "${schema}" of database "${database}" (${why}); ${remedy}`,
    { cause: error },
  );
}

interface Facts {
  readonly user: string;
  readonly database: string;
  readonly present: boolean;
}

async function factsOf(host: DataSource, schema: string): Promise<Facts> {
  const [facts] = await host.query<Facts[]>(
    `SELECT quote_ident(current_user) AS user, current_database() AS database,
            EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1) AS present`,
    [schema],
  );
  return facts ?? { user: 'unknown', database: 'unknown', present: true };
}

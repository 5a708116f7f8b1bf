import { type DataSource } from 'typeorm';
import { nameOf, prepareRecord, recordMigration, recordStatements, validateSchemaName } from '../database';
import { MIGRATION_LOCK } from './migration-lock';
import { readMigrationStatus } from './migration-status';
import { orderTimeoutMigrations } from './migrations';

/**
 * The migrations that a schema lacks, as a script of one transaction: for a database administrator who runs it with
 * psql. It leaves what `migrate` leaves, its record included.
 *
 * @param dataSource is only read, to find out what is pending. Without it, all migrations are in the script.
 * @returns an empty string if nothing is pending.
 */
export async function migrationsSql(schema: string, dataSource?: DataSource): Promise<string> {
  validateSchemaName(schema);
  const pending = dataSource ? await pendingIn(dataSource, schema) : undefined;
  const migrations = orderTimeoutMigrations(schema).filter((one) => pending?.includes(nameOf(one)) ?? true);
  if (migrations.length === 0) return '';
  const ours = orderTimeoutMigrations(schema).map(nameOf);
  const parts = [
    await schemaSql(schema, dataSource),
    await recordStatements(dataSource, ({ tx }) => prepareRecord(tx, schema, ours)),
  ];
  for (const migration of migrations) {
    const statements = await recordStatements(dataSource, async ({ tx, runner }) => {
      await new migration().up(runner);
      await recordMigration(tx, schema, nameOf(migration), ours);
    });
    parts.push([`-- ${nameOf(migration)}`, ...statements]);
  }
  return script(parts);
}

/** Without IF NOT EXISTS where the schema is there: it would need the right to create schemas. */
async function schemaSql(schema: string, dataSource: DataSource | undefined): Promise<string[]> {
  const sql = 'SELECT 1 FROM pg_namespace WHERE nspname = $1';
  const found = dataSource ? await dataSource.query<unknown[]>(sql, [schema]) : [];
  return found.length > 0 ? [] : [`CREATE SCHEMA IF NOT EXISTS ${schema}`];
}

async function pendingIn(dataSource: DataSource, schema: string): Promise<string[]> {
  const status = await readMigrationStatus(dataSource, schema);
  return status.filter(({ state }) => state === 'pending').map(({ name }) => name);
}

/** In one transaction: a script that goes on after an error would leave half a schema. */
function script(parts: readonly (readonly string[])[]): string {
  const sections = [['BEGIN', `SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`], ...parts, ['COMMIT']];
  const texts = sections.filter((section) => section.length > 0).map((section) => section.map(terminated).join('\n'));
  return texts.join('\n\n') + '\n';
}

function terminated(statement: string): string {
  return statement.startsWith('--') ? statement : `${statement.trim()};`;
}

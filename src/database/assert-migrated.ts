import { type DataSource } from 'typeorm';
import { isPermissionDenied, MissingTablesError } from '../timeouts';
import { orderTimeoutMigrations } from './migrations';
import { nameOf, readRecorded, readRecordedEarlier } from './migrations-table';
import { NewerSchemaError } from './newer-schema-error';

/**
 * Compares what `migrate` has recorded with what this release knows. Where nothing is recorded, or it may not be read, the
 * host migrates in a way of its own, and nothing is said.
 *
 * @throws MissingTablesError, NewerSchemaError
 */
export async function assertMigrated(dataSource: DataSource, schema: string): Promise<void> {
  const known = orderTimeoutMigrations(schema).map(nameOf);
  const done = await recordedIn(dataSource, schema, known);
  if (done.length === 0) return;
  const missing = known.filter((name) => !done.includes(name));
  if (missing.length > 0)
    throw new MissingTablesError(dataSource.driver.database ?? '', schema, `the migrations ${missing.join(', ')}`);
  const unknown = done.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new NewerSchemaError(schema, unknown);
}

async function recordedIn(dataSource: DataSource, schema: string, known: readonly string[]): Promise<string[]> {
  try {
    return (await readRecorded(dataSource, schema)) ?? (await readRecordedEarlier(dataSource, schema, known));
  } catch (error) {
    if (isPermissionDenied(error)) return [];
    throw error;
  }
}

import { type DataSource } from 'typeorm';
import {
  isPermissionDenied,
  nameOf,
  readRecorded,
  readRecordedEarlier,
  type RecordedMigration,
  refuseNewerSchema,
} from '../database';
import { MissingTablesError } from '../timeouts';
import { orderTimeoutMigrations } from './migrations';

/**
 * Compares the recorded migrations with those of this release. If none are recorded, or the record may not be read, the
 * host migrates in its own way, and nothing is checked.
 *
 * @throws MissingTablesError, NewerSchemaError
 */
export async function assertMigrated(dataSource: DataSource, schema: string): Promise<void> {
  const known = orderTimeoutMigrations(schema).map(nameOf);
  const done = await recordedIn(dataSource, schema, known);
  if (done.length === 0) return;
  const missing = known.filter((name) => done.every((one) => one.name !== name));
  if (missing.length > 0)
    throw new MissingTablesError(dataSource.driver.database ?? '', schema, `the migrations ${missing.join(', ')}`);
  refuseNewerSchema(schema, done, known);
}

async function recordedIn(
  dataSource: DataSource,
  schema: string,
  known: readonly string[],
): Promise<RecordedMigration[]> {
  try {
    return (await readRecorded(dataSource, schema)) ?? (await readRecordedEarlier(dataSource, schema, known));
  } catch (error) {
    if (isPermissionDenied(error)) return [];
    throw error;
  }
}

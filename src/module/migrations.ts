import { type MigrationInterface, type DataSource } from 'typeorm';
import { addOutboxAge, createOutbox } from '../outbox';
import { inventoryMigrations } from '../inventory';
import { orderMigrations } from '../orders';
import { createTimeouts, indexUndecided, noteFirstLookUp, MissingTablesError } from '../timeouts';
import {
  timestampOf,
  validateSchemaName,
  isPermissionDenied,
  nameOf,
  readRecorded,
  readRecordedEarlier,
  type RecordedMigration,
  refuseNewerSchema,
} from '../database';

/**
 * All migrations of this package for the given schema, in order.
 *
 * @throws InvalidOptionsError if `schema` is not a valid schema name. It becomes part of SQL text.
 */
export function orderTimeoutMigrations(schema: string): (new () => MigrationInterface)[] {
  validateSchemaName(schema);
  const all = [
    createOutbox(schema),
    addOutboxAge(schema),
    createTimeouts(schema),
    indexUndecided(schema),
    noteFirstLookUp(schema),
    ...inventoryMigrations(schema),
    ...orderMigrations(schema),
  ];
  return all.sort((a, b) => timestampOf(a.name) - timestampOf(b.name));
}

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

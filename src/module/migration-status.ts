import { type DataSource } from 'typeorm';
import { nameOf, readRecorded, readRecordedEarlier } from '../database';
import { orderTimeoutMigrations } from './migrations';

/**
 * A migration of this release, or one that the schema records.
 * - `run`, `pending`: of this release.
 * - `newer`: of a newer release, which this one can work with or not (see `refuseNewerSchema`).
 */
export interface MigrationStatus {
  readonly name: string;
  readonly state: 'run' | 'pending' | 'newer';
}

/** Compares the migrations of this release with those that the schema records, in the order in which they run. */
export async function readMigrationStatus(dataSource: DataSource, schema: string): Promise<MigrationStatus[]> {
  const known = orderTimeoutMigrations(schema).map(nameOf);
  const recorded = (await readRecorded(dataSource, schema)) ?? (await readRecordedEarlier(dataSource, schema, known));
  const done = recorded.map(({ name }) => name);
  const ours = known.map((name) => ({ name, state: done.includes(name) ? ('run' as const) : ('pending' as const) }));
  const newer = done.filter((name) => !known.includes(name)).map((name) => ({ name, state: 'newer' as const }));
  return [...ours, ...newer];
}

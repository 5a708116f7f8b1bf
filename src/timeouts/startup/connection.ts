import { DataSource } from 'typeorm';
import { type Clock } from '../../clock';
import {
  connectionOptions,
  type DatabaseOptions,
  findDatabaseProblems,
  resolveDatabaseOptions,
  retryWhileUnavailable,
} from '../../database';

/** How the module connects: by one of these. */
export interface ConnectionChoice {
  readonly dataSource?: DataSource | undefined;
  readonly database?: string | DatabaseOptions | undefined;
}

/** A DataSource, and whether the module connects and ends it. */
export interface Connection {
  readonly dataSource: DataSource;
  readonly ownsConnection: boolean;
}

/** Every problem with the choice. */
export function findConnectionProblems({ dataSource, database }: ConnectionChoice): string[] {
  if (dataSource !== undefined && database !== undefined) return ['give either dataSource or database, not both'];
  if (database !== undefined) return findDatabaseProblems(resolveDatabaseOptions(database));
  if (dataSource?.options.type === 'postgres') return [];
  return [
    'dataSource must be a TypeORM DataSource of type "postgres"; without one, give database the URL of the server',
  ];
}

/** A choice without problems, not connected yet. */
export function connectionOf({ dataSource, database }: ConnectionChoice): Connection {
  if (dataSource) return { dataSource, ownsConnection: false };
  const own = new DataSource(connectionOptions(resolveDatabaseOptions(database ?? '')));
  return { dataSource: own, ownsConnection: true };
}

/** Connects a DataSource of our own. It waits half a minute for a server that is not there yet. */
export async function openConnection({ dataSource, ownsConnection }: Connection, clock: Clock): Promise<void> {
  if (ownsConnection) await retryWhileUnavailable(clock, () => dataSource.initialize());
}

/** Ends a DataSource of our own. */
export async function endConnection({ dataSource, ownsConnection }: Connection): Promise<void> {
  if (ownsConnection && dataSource.isInitialized) await dataSource.destroy();
}

import { type DataSource } from 'typeorm';
import { countUnsentEvents } from '../outbox';
import { countTimeouts } from '../timeouts';
import { type SchemaObject } from './uninstall-tables';

/** Work in the tables that would never be done. */
export interface OpenWork {
  readonly timeouts: number;
  readonly events: number;
  /** Kinds of the timeouts. */
  readonly kinds: readonly string[];
}

const NOTHING: OpenWork = { timeouts: 0, events: 0, kinds: [] };

/** Counts the open work. Nothing, if the tables are not there. */
export async function readOpenWork(
  dataSource: DataSource,
  schema: string,
  installed: readonly SchemaObject[],
): Promise<OpenWork> {
  const names = installed.map(({ name }) => name);
  if (!names.includes('timeout') || !names.includes('outbox')) return NOTHING;
  const counts = await countTimeouts(dataSource, schema);
  return {
    timeouts: counts.reduce((sum, { pending, parked }) => sum + pending + parked, 0),
    events: await countUnsentEvents(dataSource, schema),
    kinds: counts.map(({ kind }) => kind),
  };
}

import { type DataSource } from 'typeorm';
import { EngineSettings } from './engine-settings';

/** What the instances of this database have recorded about their message path. */
export interface PathFacts {
  /** Id of this database, which the exchange `<p>.owner` carries too. Undefined: no instance has run. */
  readonly databaseId: string | undefined;
  /** The delay transport in use. Undefined: none was chosen yet. */
  readonly transport: string | undefined;
}

/** Reads the record without changing it. */
export async function readPathFacts(dataSource: DataSource, schema: string): Promise<PathFacts> {
  const settings = new EngineSettings(schema);
  const [databaseId, transport] = [
    await settings.read(dataSource, 'database-id'),
    await settings.read(dataSource, 'delay-transport'),
  ];
  return { databaseId: databaseId || undefined, transport: transport || undefined };
}

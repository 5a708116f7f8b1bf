import { type DataSource, type EntityManager } from 'typeorm';
import { randomUUID } from 'node:crypto';
import { ownQuery } from '../../database';

/**
 * What all instances of this database have to agree on. Earlier releases read and write `delay-transport`, the name of the
 * transport; it is kept up to date for them.
 */
export type EngineSetting = 'message-path' | 'delay-transport' | 'republication' | 'database-id' | 'owned-prefix';

type Connection = DataSource | EntityManager;

/** Rows of the table `engine_setting`, one a setting. */
export class EngineSettings {
  constructor(private readonly schema: string) {}

  async read(on: Connection, name: EngineSetting): Promise<string | undefined> {
    const [row] = await send<{ value: string }[]>(
      on,
      `SELECT value FROM ${this.schema}.engine_setting WHERE name = $1`,
      [name],
    );
    return row?.value;
  }

  /** Locks the row, making it with an empty value if it is not there. */
  async lock(tx: EntityManager, name: EngineSetting): Promise<string> {
    await tx.query(
      `INSERT INTO ${this.schema}.engine_setting (name, value) VALUES ($1, '') ON CONFLICT (name) DO NOTHING`,
      [name],
    );
    const [row] = await tx.query<{ value: string }[]>(
      `SELECT value FROM ${this.schema}.engine_setting WHERE name = $1 FOR UPDATE`,
      [name],
    );
    return row?.value ?? '';
  }

  /** Undefined: there is no such row, or another instance has locked it. */
  async tryLock(tx: EntityManager, name: EngineSetting): Promise<string | undefined> {
    const [row] = await tx.query<{ value: string }[]>(
      `SELECT value FROM ${this.schema}.engine_setting WHERE name = $1 FOR UPDATE SKIP LOCKED`,
      [name],
    );
    return row?.value;
  }

  async write(on: Connection, name: EngineSetting, value: string): Promise<void> {
    await send(
      on,
      `INSERT INTO ${this.schema}.engine_setting (name, value) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, changed_at = now()`,
      [name, value],
    );
  }

  /** Seconds since it was written; undefined: never. */
  async age(on: DataSource, name: EngineSetting): Promise<number | undefined> {
    const [row] = await send<{ seconds: number }[]>(
      on,
      `SELECT extract(epoch FROM now() - changed_at)::float8 AS seconds FROM ${this.schema}.engine_setting WHERE name = $1`,
      [name],
    );
    return row?.seconds;
  }

  /** Identifies this database; created at the first call. A restored copy has the same id. */
  async databaseId(on: DataSource): Promise<string> {
    await send(
      on,
      `INSERT INTO ${this.schema}.engine_setting (name, value) VALUES ('database-id', $1) ON CONFLICT (name) DO NOTHING`,
      [randomUUID()],
    );
    return (await this.read(on, 'database-id')) ?? '';
  }
}

/** A pool of a host may wait for an answer without any limit. */
function send<T>(on: Connection, sql: string, values: unknown[]): Promise<T> {
  return 'createQueryRunner' in on ? ownQuery(on, sql, values) : on.query<T>(sql, values);
}

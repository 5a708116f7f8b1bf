import { Logger } from '@nestjs/common';
import { type DataSource, type EntityManager } from 'typeorm';
import { SystemClock } from '../clock';
import { present } from '../errors';
import { ownTransaction } from './own-transaction';
import { isLockTimeout } from './database-errors';
import { LockedTablesError } from './locked-tables-error';
import { type Migration, nameOf, recordMigration } from './migrations-table';

/**
 * ALTER TABLE waits for every session that reads the table, and all later ones queue behind it: while pg_dump runs, no order
 * could be placed. So it waits for a second, and lets the others go before it tries again.
 */
const LOCK_MS = 1_000;
const PAUSE_MS = 2_000;
const TRIES = 20;

const clock = new SystemClock();
const logger = new Logger('Migrations');

/**
 * Runs one migration in a transaction of its own, with its record among `ours`.
 *
 * @throws LockedTablesError when a table is in use for a minute.
 */
export async function runMigration(
  dataSource: DataSource,
  schema: string,
  migration: Migration,
  ours: readonly string[],
): Promise<void> {
  const name = nameOf(migration);
  const run = async (tx: EntityManager): Promise<void> => {
    await new migration().up(present(tx.queryRunner, 'the query runner'));
    await recordMigration(tx, schema, name, ours);
  };
  for (let tries = 1; ; tries++) {
    try {
      // No limit for statements: an index on a large table takes minutes.
      return await ownTransaction(dataSource, run, { statementMs: 0, idleMs: 0, lockMs: LOCK_MS });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (tries >= TRIES) throw new LockedTablesError(name, error);
      if (tries === 1) logger.warn(`${name} waits for a table that another session uses`);
      await clock.sleep(PAUSE_MS);
    }
  }
}

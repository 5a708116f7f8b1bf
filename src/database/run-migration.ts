import { Logger } from '@nestjs/common';
import { type DataSource, type EntityManager } from 'typeorm';
import { SystemClock } from '../clock';
import { present } from '../errors';
import { ownTransaction } from './own-transaction';
import { isLockTimeout } from './database-errors';
import { applyLive, isLive, type LiveMigration } from './live-migration';
import { LockedTablesError } from './locked-tables-error';
import { type Migration, nameOf, recordMigration } from './migrations-table';
import { onOwnConnection } from './on-own-connection';

/**
 * ALTER TABLE waits for every session that reads the table, and all later ones queue behind it: while pg_dump runs, no order
 * could be placed. So it waits for a second, and lets the others go before it tries again.
 */
const LOCK_MS = 1_000;
const PAUSE_MS = 2_000;
const TRIES = 20;
/** After this time, the log says what a start is waiting for. */
const PATIENCE_MS = 10_000;

/** An index on a large table takes minutes. */
const UNLIMITED = { statementMs: 0, idleMs: 0 };

const clock = new SystemClock();
const logger = new Logger('Migrations');

/**
 * Runs one migration in a transaction of its own, with its record among `ours`. A live migration runs before that
 * transaction.
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
  const instance = new migration();
  if (isLive(instance)) {
    await runLive(dataSource, instance, name);
    return ownTransaction(dataSource, (tx) => recordMigration(tx, schema, name, ours), UNLIMITED);
  }
  const run = async (tx: EntityManager): Promise<void> => {
    await instance.up(present(tx.queryRunner, 'the query runner'));
    await recordMigration(tx, schema, name, ours);
  };
  for (let tries = 1; ; tries++) {
    try {
      return await ownTransaction(dataSource, run, { ...UNLIMITED, lockMs: LOCK_MS });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (tries >= TRIES) throw new LockedTablesError(name, error);
      if (tries === 1) logger.warn(`${name} waits for a table that another session uses`);
      await clock.sleep(PAUSE_MS);
    }
  }
}

/** It blocks nobody, so it may wait: PostgreSQL waits for every older transaction in the database before an index is ready. */
async function runLive(dataSource: DataSource, migration: LiveMigration, name: string): Promise<void> {
  const note = clock.after(PATIENCE_MS, () =>
    logger.warn(`${name} builds an index, and waits for older transactions; see pg_stat_progress_create_index`),
  );
  try {
    await onOwnConnection(dataSource, 0, (runner) => applyLive(runner, migration));
  } catch (error) {
    throw isLockTimeout(error) ? new LockedTablesError(name, error) : error;
  } finally {
    note.cancel();
  }
}

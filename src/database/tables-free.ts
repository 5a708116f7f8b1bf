import { type DataSource } from 'typeorm';
import { isLockTimeout } from './database-errors';
import { ownQuery } from './own-connection';

/**
 * False while another session keeps ours from writing to a table of this schema, as LOCK TABLE and CREATE INDEX do, and
 * while row-level security hides rows of one: an event that the relay does not see is never sent. Any other failure says
 * nothing of that. Never rejects.
 */
export async function areTablesFree(dataSource: DataSource, schema: string): Promise<boolean> {
  const hidden = `SELECT FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND row_security_active(oid) LIMIT 1`;
  const lock = `
    SET LOCAL lock_timeout = ${TABLE_LOCK_MS};
    DO $$ BEGIN EXECUTE (
      SELECT 'LOCK TABLE ' || string_agg(oid::regclass::text, ', ') || ' IN ROW EXCLUSIVE MODE' FROM pg_class
       WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r' AND relname NOT LIKE '%migrations'); END $$`;
  try {
    if ((await ownQuery<object[]>(dataSource, hidden)).length > 0) return false;
    await ownQuery(dataSource, lock);
    return true;
  } catch (error) {
    return !isLockTimeout(error);
  }
}

/** A request waits twice as long. Below deadlock_timeout, so that nobody else is canceled for it. */
const TABLE_LOCK_MS = 900;

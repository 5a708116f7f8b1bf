import { type DataSource } from 'typeorm';
import { ownTransaction } from '../../database';
import { PAYMENT_NAME_KEY } from '../../orders';

/** A test that has left a transaction open should hear of it soon. */
const LOCK_MS = 2_000;

/** Deletes all rows of our tables, except for what the migrations and the engine have recorded. */
export async function emptyTables(dataSource: DataSource, schema: string): Promise<void> {
  await ownTransaction(dataSource, (tx) => tx.query(emptySql(schema)), { lockMs: LOCK_MS });
}

/**
 * TRUNCATE takes longer than deleting a few rows. Rows that refer to others go first. A guarded table keeps its rows unless
 * its triggers are off.
 */
function emptySql(schema: string): string {
  return `
    DO $$
    DECLARE emptied record;
    BEGIN
      FOR emptied IN
        WITH RECURSIVE ours AS (
          SELECT oid FROM pg_class
           WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r'
             AND relname NOT LIKE '%migrations' AND relname NOT IN ('engine_setting', '${PAYMENT_NAME_KEY}')),
        path AS (
          SELECT oid, 0 AS steps FROM ours
           UNION SELECT f.confrelid, steps + 1 FROM path JOIN pg_constraint f ON f.contype = 'f' AND f.conrelid = path.oid)
        SELECT oid::regclass AS name,
               EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = path.oid AND NOT g.tgisinternal) AS is_guarded
          FROM path GROUP BY oid ORDER BY max(steps)
      LOOP
        IF emptied.is_guarded THEN EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', emptied.name); END IF;
        EXECUTE format('DELETE FROM %s', emptied.name);
        IF emptied.is_guarded THEN EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', emptied.name); END IF;
      END LOOP;
    END $$`;
}

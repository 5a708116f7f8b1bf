import { type DataSource } from 'typeorm';
import { ownTransaction } from '../../database';

/** A test that has left a transaction open should hear of it soon. */
const LOCK_MS = 2_000;

/**
 * Lets time pass in the tables: moves every time in them back by `ms`, in one statement. PostgreSQL's clock stays as it is.
 * All distances between times stay the same, so the tables are what they would be if all had happened `ms` earlier.
 */
export async function shiftTimes(dataSource: DataSource, schema: string, ms: number): Promise<void> {
  await ownTransaction(dataSource, (tx) => tx.query(shiftSql(schema, ms)), { lockMs: LOCK_MS });
}

/**
 * Columns are read from the catalog, so no table is forgotten. A payment watch has its start in its payload. The triggers
 * would keep the history from being changed.
 */
function shiftSql(schema: string, ms: number): string {
  const began = `to_char((payload ->> 'since')::timestamptz - interval '${ms} milliseconds', 'YYYY-MM-DD"T"HH24:MI:SS.MSTZH:TZM')`;
  const watch = `CASE WHEN kind = 'order.late-watch' THEN payload || jsonb_build_object('since', ${began}) ELSE payload END`;
  const has = (what: string): string => `EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = c.oid AND ${what})`;
  return `
    DO $$
    DECLARE moved record;
    BEGIN
      FOR moved IN
        SELECT c.oid::regclass AS name, ${has('NOT g.tgisinternal')} AS is_guarded,
               string_agg(CASE a.attname WHEN 'payload' THEN $watch$payload = ${watch}$watch$
                 ELSE format('%1$I = %1$I - interval ''${ms} milliseconds''', a.attname) END, ', ') AS changes
          FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = '${schema}'::regnamespace AND c.relkind = 'r'
           AND (a.atttypid = 'timestamptz'::regtype OR a.attname = 'payload') AND a.attnum > 0 AND NOT a.attisdropped
         GROUP BY c.oid
      LOOP
        IF moved.is_guarded THEN EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', moved.name); END IF;
        EXECUTE format('UPDATE %s SET %s', moved.name, moved.changes);
        IF moved.is_guarded THEN EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', moved.name); END IF;
      END LOOP;
    END $$`;
}

/** What PostgreSQL says in the error of a guarded statement. No statement contains it, because some libraries quote that. */
export const ENDED = 'nestjs-order-timeout: the transaction of this call has ended';
export const STILL_RUNNING =
  'nestjs-order-timeout: a call still runs in this transaction; await each call before you commit';

const WRITES = /^\s*(?:WITH(\s+RECURSIVE)?\s+|(?=(?:INSERT|UPDATE|DELETE|MERGE)\b))/i;
/** A table of a few rows, which every process may update. */
const SMALL = 'engine_setting';
const IS_GUARDED = /^WITH(?: RECURSIVE)? order_timeout_guard AS/;

/**
 * Opens a cursor that outlives its transaction: at COMMIT, PostgreSQL runs its query, which fails. So while it is open, the
 * transaction cannot be committed. It is gone when the transaction, or the savepoint in which it was opened, is rolled back.
 */
export function openCursor(name: string): string {
  // Not a constant, which would fail at once.
  return `DECLARE ${name} NO SCROLL CURSOR WITH HOLD FOR
    SELECT CAST(CASE WHEN now() IS NULL THEN '' ELSE ${split(STILL_RUNNING)} END AS int)`;
}

/**
 * Makes a statement that writes fail unless this cursor is open: unless it runs in the very transaction that opened it. Only
 * a part that writes is run for certain, so it is an update, of no row ever. The text is the same for each call, because
 * servers and drivers keep plans by it.
 */
export function guarded(
  schema: string,
  cursor: string,
  sql: string,
  parameters: unknown[] | undefined,
): [sql: string, parameters: unknown[] | undefined] {
  const [begin, recursive = ''] = WRITES.exec(sql) ?? [];
  // Within a call of a call, the cursor of the inner one says all.
  if (begin === undefined || IS_GUARDED.test(sql)) return [sql, parameters];
  const values = parameters?.length ? [...parameters, cursor] : undefined;
  const name = values ? `$${values.length}::text` : `'${cursor}'`;
  const guard = `WITH${recursive} order_timeout_guard AS (
    UPDATE ${schema}.${SMALL} SET value = value WHERE CAST(
      CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_cursors WHERE name = ${name}) THEN 'false'
           ELSE ${split(ENDED)} END AS boolean))`;
  return [`${guard}${begin.trim() === '' ? ' ' : ', '}${sql.slice(begin.length)}`, values ?? parameters];
}

/** SQL: a text, in two parts. */
function split(text: string): string {
  const [first = '', ...rest] = text.split(':');
  return `'${first}' || ':${rest.join(':')}'`;
}

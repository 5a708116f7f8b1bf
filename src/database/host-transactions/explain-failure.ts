import { CodedError } from '../../errors';
import { AbortedTransactionError } from '../errors';
import { UnusableTransactionError } from './transaction';

const HAS_ENDED = 'this transaction has ended, or was never begun; await each call before your transaction ends';

const ELSEWHERE =
  'the database of this transaction has no tables of this package; pass a transaction of the database that the module ' +
  'is connected to';

/** undefined_table, invalid_schema_name. */
const MISSING = ['42P01', '3F000'];

/** no_active_sql_transaction. */
const OUTSIDE = '25P01';

/** invalid_savepoint_specification, invalid_cursor_name: those of a call are gone. */
const GONE = ['3B001', '34000'];

const RELEASED = /^QueryRunner(Provider)?AlreadyReleasedError$/;

/** Where libraries keep the error of the driver, and Prisma keeps the SQLSTATE. */
const INNER = ['driverError', 'cause', 'meta', 'driverAdapterError'];

const MAX_DEPTH = 6;

/** The transaction has ended before the call. */
export function hasEnded(cause?: unknown): UnusableTransactionError {
  return new UnusableTransactionError(HAS_ENDED, { cause });
}

export function saysEnded(error: unknown): boolean {
  return error instanceof UnusableTransactionError && error.message.endsWith(HAS_ENDED);
}

/** in_failed_sql_transaction: a statement before this one has failed. */
export function isAborted(error: unknown): boolean {
  return reportedBy(error).states.includes('25P02');
}

/** The error of a savepoint or a cursor of ours, or the one that says what is wrong with the transaction. */
export function explainControl(error: unknown): unknown {
  return reportedBy(error).states.some((state) => GONE.includes(state)) ? hasEnded(error) : error;
}

/**
 * The error of a statement, or the one that says what is wrong with the transaction.
 *
 * @param schema of our tables. Absent: the statement uses no others.
 */
export function explainFailure(error: unknown, schema?: string): unknown {
  const inner = (error as { driverError?: unknown } | undefined)?.driverError;
  // TypeORM wraps what our own connection throws.
  if (inner instanceof CodedError) return inner;
  const { states, texts } = reportedBy(error);
  const isOver = texts.some((text) => text.includes(ENDED) || text.includes(STILL_RUNNING));
  if (isOver || states.includes(OUTSIDE) || (error instanceof Error && RELEASED.test(error.name)))
    return hasEnded(error);
  const isOurs = schema === undefined || texts.some((text) => text.includes(schema));
  if (isOurs && states.some((state) => MISSING.includes(state)))
    return new UnusableTransactionError(ELSEWHERE, { cause: error });
  return error;
}

/** The error of a transaction in which a failed statement was caught before. */
export function explainAborted(error: unknown, failedBefore: unknown): unknown {
  return isAborted(error) ? new AbortedTransactionError({ cause: failedBefore ?? error }) : error;
}

interface Reported {
  /** SQLSTATEs. */
  readonly states: readonly string[];
  readonly texts: readonly string[];
}

/** What PostgreSQL reported, from the error of any library. */
function reportedBy(error: unknown, depth = MAX_DEPTH): Reported {
  if (typeof error !== 'object' || error === null || depth === 0) return { states: [], texts: [] };
  const link = error as Readonly<Record<string, unknown>>;
  const inner = INNER.map((name) => reportedBy(link[name], depth - 1));
  return {
    states: [...textsOf(link.code, link.originalCode), ...inner.flatMap(({ states }) => states)],
    texts: [...textsOf(link.message, link.originalMessage), ...inner.flatMap(({ texts }) => texts)],
  };
}

function textsOf(...values: unknown[]): string[] {
  return values.filter((value) => typeof value === 'string');
}

/** What PostgreSQL says in the error of a guarded statement. No statement contains it, because some libraries quote that. */
const ENDED = 'nestjs-order-timeout: the transaction of this call has ended';

const STILL_RUNNING = 'nestjs-order-timeout: a call still runs in this transaction; await each call before you commit';

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

import { AbortedTransactionError } from '../aborted-transaction-error';
import { CodedError } from '../../errors';
import { ENDED, STILL_RUNNING } from './guarded';
import { UnusableTransactionError } from './unusable-transaction-error';

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

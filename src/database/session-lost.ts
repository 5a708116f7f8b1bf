/** read_only_sql_transaction: the server is a standby, or was made read-only. */
const READ_ONLY = '25006';
/** The server has ended the session: by an operator (57P01 to 57P03), or by its limit for idle transactions (25P03). */
const ENDED = /^(57P|25P03)/;
/** The code of our own ReadOnlySessionError. */
const OWN_READ_ONLY = 'ORDER_TIMEOUT/DATABASE_READ_ONLY';
const NO_ANSWER = 'ORDER_TIMEOUT/DATABASE_NO_ANSWER';
/** The message of pg when there is no answer within `query_timeout`. */
const PG_NO_ANSWER = 'Query read timeout';

/** True when the server refuses to write, which is so for its other sessions as well. */
export function isReadOnly(error: unknown): boolean {
  const code = codeOf(error);
  return code === READ_ONLY || code === OWN_READ_ONLY;
}

/** True when there was no answer; whether the server executed the statement is unknown. */
export function isUnanswered(error: unknown): boolean {
  return codeOf(error) === NO_ANSWER || (error instanceof Error && error.message === PG_NO_ANSWER);
}

/**
 * True when the session that reported this must not be used again: a pool would hand it out again, and every user would
 * fail the same way.
 */
export function isSessionLost(error: unknown): boolean {
  const code = codeOf(error);
  return isReadOnly(error) || isUnanswered(error) || (typeof code === 'string' && ENDED.test(code));
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
}

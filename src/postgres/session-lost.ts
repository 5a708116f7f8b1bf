/** read_only_sql_transaction: the server was a primary, or is being switched over. */
const READ_ONLY = '25006';
/** The server has ended the session: an operator's doing (57P01 to 57P03), or its own limit for idle transactions. */
const ENDED = /^(57P|25P03)/;
/** What we say of a session that was asked whether it takes writes. */
const OWN_READ_ONLY = 'ORDER_TIMEOUT/DATABASE_READ_ONLY';
const NO_ANSWER = 'ORDER_TIMEOUT/DATABASE_NO_ANSWER';
/** What pg calls an answer that did not come within `query_timeout`. */
const PG_NO_ANSWER = 'Query read timeout';

/** True when the server refuses to write, which is so for its other sessions as well. */
export function isReadOnly(error: unknown): boolean {
  const code = codeOf(error);
  return code === READ_ONLY || code === OWN_READ_ONLY;
}

/** True when nothing came back, which tells nothing of what the server has done. */
export function isUnanswered(error: unknown): boolean {
  return codeOf(error) === NO_ANSWER || (error instanceof Error && error.message === PG_NO_ANSWER);
}

/**
 * True when the session that reported this must not be used again: a pool would hand it out to somebody else, who fails the
 * same way, for as long as it lives.
 */
export function isSessionLost(error: unknown): boolean {
  const code = codeOf(error);
  return isReadOnly(error) || isUnanswered(error) || (typeof code === 'string' && ENDED.test(code));
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
}

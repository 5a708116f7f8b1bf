import { TypeORMError } from 'typeorm';
import { isUnanswered } from './session-lost';

/** SQLSTATEs that say nothing about the row: connection trouble, a server that only reads, resources, operator intervention. */
const AWAY_STATES = /^(08|25006|53|57P|58|XX000)/;
const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ORDER_TIMEOUT/DATABASE_NO_ANSWER',
  'ORDER_TIMEOUT/DATABASE_READ_ONLY',
  'ORDER_TIMEOUT/NO_WRITABLE_SERVER',
]);
/** The driver and TypeORM give these no code when the server ends the connection inside a transaction. */
const AWAY_MESSAGE =
  /connection terminated|connection ended|timeout exceeded when trying to connect|timeout expired|query read timeout|not queryable/i;
const AWAY_NAMES = new Set(['QueryRunnerProviderAlreadyReleasedError', 'QueryRunnerAlreadyReleasedError']);
/** serialization_failure, deadlock_detected: the same transaction may well succeed now. */
const CONFLICTS = ['40001', '40P01'];
/**
 * lock_not_available, query_canceled, idle_in_transaction_session_timeout: it took longer than our limits allow, mostly
 * because another session holds a row. A retry at once would only wait again.
 */
const LIMITS = ['55P03', '57014', '25P03'];
const CONTENTION = new Set([...CONFLICTS, ...LIMITS]);

interface ErrorLike {
  readonly code?: unknown;
  readonly name?: unknown;
  readonly message?: unknown;
  readonly driverError?: unknown;
  readonly cause?: unknown;
}

/** True when the database could not be asked at all: nobody's fault, and no attempt is counted for it. */
export function isDatabaseUnavailable(error: unknown): boolean {
  return chain(error).some(({ code, name, message }) => {
    if (typeof code === 'string' && (AWAY_CODES.has(code) || AWAY_STATES.test(code))) return true;
    if (typeof name === 'string' && AWAY_NAMES.has(name)) return true;
    return typeof code !== 'string' && typeof message === 'string' && AWAY_MESSAGE.test(message);
  });
}

/** True when our side gave the connection up, because no answer came in time. */
export function isGivenUp(error: unknown): boolean {
  return chain(error).some(isUnanswered);
}

/** True when running the whole transaction again at once is the right answer. */
export function isRetryableConflict(error: unknown): boolean {
  return chain(error).some(({ code }) => typeof code === 'string' && CONFLICTS.includes(code));
}

/** True when a wait for a lock reached its limit; it says nothing about the items of the transaction. */
export function isLockTimeout(error: unknown): boolean {
  return chain(error).some(({ code }) => code === '55P03');
}

/**
 * True when a statement was canceled. PostgreSQL reports even a lock time-out so, with 57014 and not 55P03, if the lock is
 * granted at that very moment and the statement then waits for another one.
 */
export function isCanceled(error: unknown): boolean {
  return chain(error).some(({ code }) => code === '57014');
}

/** True when another session was in the way: no attempt is counted for it. */
export function isContention(error: unknown): boolean {
  return chain(error).some(({ code }) => typeof code === 'string' && CONTENTION.has(code));
}

/** True when the database user lacks a right. */
export function isPermissionDenied(error: unknown): boolean {
  return chain(error).some(({ code }) => code === '42501');
}

/** True when our way to the database reported it, also as the cause of a handler's error. */
export function isFromDatabase(error: unknown): boolean {
  return chain(error).some((link) => link instanceof TypeORMError);
}

function chain(error: unknown): ErrorLike[] {
  const found: ErrorLike[] = [];
  let current: unknown = error;
  while (typeof current === 'object' && current !== null && found.length < 5) {
    const link = current as ErrorLike;
    found.push(link);
    current = link.driverError ?? link.cause;
  }
  return found;
}

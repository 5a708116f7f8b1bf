import { TypeORMError } from 'typeorm';
import { Logger } from '@nestjs/common';
import { type Clock } from '../clock';

/** A wrong login, or no such database. PostgreSQL checks that for new sessions only: those that are open go on. */
const LOGIN_REFUSED = /^(28|3D)/;

/** SQLSTATEs that say nothing about the row: connection trouble, a server that only reads, resources, operator intervention. */
const AWAY_STATES = /^(08|25006|53|57P|58|XX00[0-2])/;

/**
 * insufficient_privilege, undefined_table, undefined_column, invalid_schema_name, undefined_function, undefined_object, and
 * invalid_column_reference: ON CONFLICT finds no unique index.
 */
const UNUSABLE_STATES = ['42501', '42P01', '42703', '3F000', '42883', '42704', '42P10'];

/**
 * What a trigger fails with whatever the row is: a broken constraint of what it writes (as without this month's partition), a
 * table or column that is not as it was, numbers that have ended (22003: they outgrow their column), a subquery with several
 * rows, and what its server cannot do. Others refuse the row.
 */
const TRIGGER_STATES = /^(21|23|42|0A)|^22003$|^2200H$/;

/** A line for each function that ran, in each language of PostgreSQL: "PL/pgSQL function audit() line 3 at SQL statement". */
const IN_FUNCTION = /^.*\bPL\/.*$/m;

/** Whatever its code, this ends a session or refuses a new one. */
const FATAL = ['FATAL', 'PANIC'];

const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  // Of this host: it has no port, no file, or no memory left for a connection.
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ORDER_TIMEOUT/DATABASE_NO_ANSWER',
  'ORDER_TIMEOUT/DATABASE_READ_ONLY',
  'ORDER_TIMEOUT/NO_WRITABLE_SERVER',
  'ORDER_TIMEOUT/POOLED_SESSION',
]);

/** The driver and TypeORM give these no code: the server ends the connection inside a transaction, or the process stops. */
const AWAY_MESSAGE =
  /connection terminated|connection ended|timeout exceeded when trying to connect|timeout expired|query read timeout|not queryable|calling end on the pool/i;

const AWAY_NAMES = new Set(['QueryRunnerProviderAlreadyReleasedError', 'QueryRunnerAlreadyReleasedError']);

/** serialization_failure, deadlock_detected, and our own: the same transaction may well succeed now. */
const CONFLICTS = ['40001', '40P01', 'ORDER_TIMEOUT/CHANGED_MEANWHILE'];

/**
 * lock_not_available, query_canceled, idle_in_transaction_session_timeout: it took longer than our limits allow, mostly
 * because another session holds a row. A retry at once would only wait again.
 */
const LIMITS = ['55P03', '57014', '25P03'];

const CONTENTION = new Set([...CONFLICTS, ...LIMITS]);

/** The server may say it in another language. */
const NO_IDS = /\bGetNew(?:Transaction|MultiXact)Id\b|is not accepting commands/;

interface ErrorLike {
  readonly code?: unknown;
  readonly name?: unknown;
  readonly message?: unknown;
  readonly severity?: unknown;
  /** Where PostgreSQL reported it. */
  readonly routine?: unknown;
  /** What ran inside of the statement, innermost first. */
  readonly where?: unknown;
  /** The text of the statement, from TypeORM. */
  readonly query?: unknown;
  readonly driverError?: unknown;
  readonly cause?: unknown;
}

/** Finds the tables of our schemas in this process, by schema. */
const ownTables = new Map<string, RegExp>();

/** Of the last statement of our transactions. */
const OWN_COMMIT = /\border_timeout_commits\b/;

/** From now on, what the database says about tables of this schema is about ours. */
export function nameOwnSchema(schema: string): void {
  ownTables.set(schema, new RegExp(`(?<![\\w.])"?${schema}"?\\.`));
}

/**
 * True when the database does not do our work, whatever the work is: nobody's fault, and no attempt is counted for it. It
 * cannot be asked, it refuses our login, or our tables are not there or may not be used.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  return isServerRefusing(error) || chain(error).some(isAway);
}

/** True when the server answers and refuses what all work needs. It does so until a person has done something. */
export function isServerRefusing(error: unknown): boolean {
  const isFull = codesOf(error).some((code) => code.startsWith('53'));
  return isLoginRefused(error) || isSchemaUnusable(error) || isFull || isOutOfIds(error) || isUnfitForUs(error);
}

/** True when the server gives out no transaction ids. Not by its code, which is that of too large a row, too. */
export function isOutOfIds(error: unknown): boolean {
  return chain(error).some(({ message, routine }) => NO_IDS.test(`${String(routine)} ${String(message)}`));
}

/** A session could not begin for another reason than those of a network, as a certificate that we do not trust. */
function isUnfitForUs(error: unknown): boolean {
  const links = chain(error);
  return links.some((link) => whileConnecting.has(link)) && !links.some(isAway);
}

/** True when the server lets no new session in: wrong login, or no such database. */
export function isLoginRefused(error: unknown): boolean {
  return codesOf(error).some((code) => LOGIN_REFUSED.test(code));
}

/** True when the server has no such database. */
export function isDatabaseMissing(error: unknown): boolean {
  return codesOf(error).includes('3D000');
}

/** True when the server lets the user in from nowhere, or not from here, whatever the password. */
export function isUserShutOut(error: unknown): boolean {
  return codesOf(error).includes('28000');
}

/** True when a pooler, such as PgBouncer, does not let us through to the server. A server says nothing with this code here. */
export function isPoolerRefusing(error: unknown): boolean {
  return codesOf(error).includes('08P01');
}

/** True when the database takes no new sessions. */
export function isDatabaseClosed(error: unknown): boolean {
  return codesOf(error).includes('55000');
}

/** True when the server, the user, or the database has as many sessions as it may. */
export function isOutOfConnections(error: unknown): boolean {
  return codesOf(error).includes('53300');
}

/** True when our tables are not as this release needs them, or the database user lacks a right to them. */
export function isSchemaUnusable(error: unknown): boolean {
  // First: most errors are about something else, and the texts are long.
  if (!codesOf(error).some((code) => UNUSABLE_STATES.includes(code))) return false;
  return isOfOurs(error);
}

/**
 * True when a trigger that somebody has added to our tables fails. Mostly it refuses whatever we write, but it may refuse one
 * row only, so others are tried. One that refuses a row by RAISE works.
 */
export function isTriggerBroken(error: unknown): boolean {
  const isIts = ({ code, where }: ErrorLike): boolean => {
    const [innermost = 'RAISE'] = IN_FUNCTION.exec(String(where)) ?? [];
    return TRIGGER_STATES.test(String(code)) && !/\bRAISE\b/.test(innermost);
  };
  return chain(error).some(isIts) && isOfOurs(error);
}

/** True when a constraint refuses values, so that others may pass. A partition that is missing has the same code. */
export function isOfValues(error: unknown): boolean {
  return chain(error).some(({ code, routine }) => /^23/.test(String(code)) && routine !== 'ExecFindPartition');
}

/** Whether the statement names our tables, or is a COMMIT of ours, at which a deferred trigger runs. */
function isOfOurs(error: unknown): boolean {
  const texts = chain(error).map(({ query }) => (typeof query === 'string' ? query : ''));
  return [...ownTables.values(), OWN_COMMIT].some((ours) => texts.some((text) => ours.test(text)));
}

function isAway({ code, name, message, severity }: ErrorLike): boolean {
  if (typeof code === 'string' && (AWAY_CODES.has(code) || AWAY_STATES.test(code))) return true;
  if (typeof name === 'string' && AWAY_NAMES.has(name)) return true;
  if (typeof code !== 'string') return typeof message === 'string' && AWAY_MESSAGE.test(message);
  return FATAL.some((one) => one === severity) && !CONTENTION.has(code);
}

/** True when our side gave the connection up, because no answer came in time. */
export function isGivenUp(error: unknown): boolean {
  return chain(error).some(isUnanswered);
}

/** True when running the whole transaction again at once is the right answer. */
export function isRetryableConflict(error: unknown): boolean {
  return codesOf(error).some((code) => CONFLICTS.includes(code));
}

/** True when a wait for a lock reached its limit; it says nothing about the items of the transaction. */
export function isLockTimeout(error: unknown): boolean {
  return codesOf(error).includes('55P03');
}

/**
 * True when a statement was canceled. PostgreSQL reports even a lock time-out so, with 57014 and not 55P03, if the lock is
 * granted at that very moment and the statement then waits for another one.
 */
export function isCanceled(error: unknown): boolean {
  return codesOf(error).includes('57014');
}

/** True when another session was in the way: no attempt is counted for it. */
export function isContention(error: unknown): boolean {
  return codesOf(error).some((code) => CONTENTION.has(code));
}

/** True when it may be about some rows only: our side gave up waiting, or a page of a table or an index is damaged. */
export function isOfRows(error: unknown): boolean {
  return isGivenUp(error) || codesOf(error).some((code) => code === 'XX001' || code === 'XX002');
}

/** True when the server has no room for what is written. */
export function isDiskFull(error: unknown): boolean {
  return codesOf(error).includes('53100');
}

/** True when the server, or the session, takes no writes. */
export function isReadOnly(error: unknown): boolean {
  return codesOf(error).some((code) => code === '25006' || code === 'ORDER_TIMEOUT/DATABASE_READ_ONLY');
}

/** True when the database user lacks a right. */
export function isPermissionDenied(error: unknown): boolean {
  return codesOf(error).includes('42501');
}

/** True when our way to the database reported it, also as the cause of a handler's error. */
export function isFromDatabase(error: unknown): boolean {
  return chain(error).some((link) => link instanceof TypeORMError || whileConnecting.has(link));
}

/** TypeORM passes on what the pool throws while it connects, so only we can tell it from the error of another server. */
const whileConnecting = new WeakSet<object>();

/** The error says why there is no connection to the database. */
export function noteConnectFailure(error: unknown): void {
  if (typeof error === 'object' && error !== null) whileConnecting.add(error);
}

function codesOf(error: unknown): string[] {
  return chain(error).flatMap(({ code }) => (typeof code === 'string' ? [code] : []));
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
export function isReadOnlySession(error: unknown): boolean {
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
  return isReadOnlySession(error) || isUnanswered(error) || (typeof code === 'string' && ENDED.test(code));
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
}

/** A database that restarts is back by then. One that is silent takes up to nine seconds of it for each try. */
const PATIENCE_MS = 30_000;

const PAUSE_MS = 3_000;

const logger = new Logger('Start');

/**
 * Does `work`, which must bear repetition, again while the database is unavailable. Not if it refuses us: at the start, that is
 * more likely a wrong setting than an outage, and whoever starts it is there to read so.
 *
 * @throws what the last try threw, after half a minute
 */
export async function retryWhileUnavailable<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  const endsAtMs = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isHopeless = isLoginRefused(error) || isSchemaUnusable(error) || !isDatabaseUnavailable(error);
      if (isHopeless || clock.monotonic() + PAUSE_MS >= endsAtMs) throw error;
      logger.warn(`the database is unavailable, trying again in ${PAUSE_MS} ms: ${String(error)}`);
      await clock.sleep(PAUSE_MS);
    }
  }
}

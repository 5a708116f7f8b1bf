import { TypeORMError } from 'typeorm';
import { Logger } from '@nestjs/common';
import { type Clock } from '../clock';

/** SQLSTATEs that say nothing about the row: connection trouble, a server that only reads, resources, operator intervention. */
const AWAY_STATES = /^(08|25006|53|57P|58|XX00[0-2])/;

/**
 * insufficient_privilege, undefined_table, undefined_column, invalid_schema_name, undefined_function, undefined_object, and
 * invalid_column_reference: ON CONFLICT finds no unique index.
 */
const UNUSABLE_STATES = /^(42501|42P01|42703|3F000|42883|42704|42P10)$/;

/**
 * What a trigger fails with whatever the row is: a broken constraint of what it writes (as without this month's partition), a
 * table or column that is not as it was, numbers that have ended (22003: they outgrow their column), a subquery with several
 * rows, and what its server cannot do. Others refuse the row.
 */
const TRIGGER_STATES = /^(21|23|42|0A)|^22003$|^2200H$/;

/** A line for each function that ran, in each language of PostgreSQL: "PL/pgSQL function audit() line 3 at SQL statement". */
const IN_FUNCTION = /^.*\bPL\/.*$/m;

/** Whatever its code, this ends a session or refuses a new one. */
const FATAL = /^(FATAL|PANIC)$/;

const NO_NETWORK =
  /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST(UNREACH|DOWN)|ENET(UNREACH|DOWN))$/;

/** This host has no port, no file, or no memory left for a connection. */
const NO_SOCKET = /^(EADDRNOTAVAIL|EMFILE|ENFILE|ENOBUFS)$/;

const OWN_AWAY = /^ORDER_TIMEOUT\/(DATABASE_NO_ANSWER|DATABASE_READ_ONLY|NO_WRITABLE_SERVER|POOLED_SESSION)$/;

/** The driver and TypeORM give these no code: the server ends the connection inside a transaction, or the process stops. */
const AWAY_MESSAGE =
  /connection terminated|connection ended|timeout exceeded when trying to connect|timeout expired|query read timeout|not queryable|calling end on the pool/i;

const AWAY_NAMES = /^QueryRunner(Provider)?AlreadyReleasedError$/;

/** serialization_failure, deadlock_detected, and our own: the same transaction may well succeed now. */
const CONFLICTS = /^(40001|40P01|ORDER_TIMEOUT\/CHANGED_MEANWHILE)$/;

/**
 * lock_not_available, query_canceled, idle_in_transaction_session_timeout: it took longer than our limits allow, mostly
 * because another session holds a row. A retry at once would only wait again.
 */
const LIMITS = /^(55P03|57014|25P03)$/;

/** read_only_sql_transaction, as the server is a standby, or was made read-only; and our own ReadOnlySessionError. */
const READ_ONLY = /^(25006|ORDER_TIMEOUT\/DATABASE_READ_ONLY)$/;

/** The server has ended the session: by an operator (57P01 to 57P03), or by its limit for idle transactions (25P03). */
const ENDED = /^(57P|25P03)/;

/** The message of pg when there is no answer within `query_timeout`. */
const PG_NO_ANSWER = 'Query read timeout';

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

/** The server lets no new session in: wrong login, or no such database. It checks that for new sessions only: others go on. */
export const isLoginRefused = hasCode(/^(28|3D)/);

/** The server has no such database. */
export const isDatabaseMissing = hasCode(/^3D000$/);

/** The server lets the user in from nowhere, or not from here, whatever the password. */
export const isUserShutOut = hasCode(/^28000$/);

/** A pooler, such as PgBouncer, does not let us through to the server. A server says nothing with this code here. */
export const isPoolerRefusing = hasCode(/^08P01$/);

/** The database takes no new sessions. */
export const isDatabaseClosed = hasCode(/^55000$/);

/** The server, the user, or the database has as many sessions as it may. */
export const isOutOfConnections = hasCode(/^53300$/);

/** The server has no room for what is written. */
export const isDiskFull = hasCode(/^53100$/);

/** The server, or the session, takes no writes. */
export const isReadOnly = hasCode(READ_ONLY);

/** The database user lacks a right. */
export const isPermissionDenied = hasCode(/^42501$/);

/** A page of a table or an index is damaged. */
const isDamaged = hasCode(/^XX00[12]$/);

/** The server lacks some resource, such as room, memory, or connections. */
const isExhausted = hasCode(/^53/);

/** Running the whole transaction again at once is the right answer. */
export const isRetryableConflict = hasCode(CONFLICTS);

/** A wait for a lock reached its limit; it says nothing about the items of the transaction. */
export const isLockTimeout = hasCode(/^55P03$/);

/**
 * A statement was canceled. PostgreSQL reports even a lock time-out so, with 57014 and not 55P03, if the lock is granted at
 * that very moment and the statement then waits for another one.
 */
export const isCanceled = hasCode(/^57014$/);

/** Another session was in the way: no attempt is counted for it. */
export const isContention = hasCode(CONFLICTS, LIMITS);

/**
 * True when the database does not do our work, whatever the work is: nobody's fault, and no attempt is counted for it. It
 * cannot be asked, it refuses our login, or our tables are not there or may not be used.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  return isServerRefusing(error) || chain(error).some(isAway);
}

/** True when the server answers and refuses what all work needs. It does so until a person has done something. */
export function isServerRefusing(error: unknown): boolean {
  return [isLoginRefused, isSchemaUnusable, isExhausted, isOutOfIds, isUnfitForUs].some((is) => is(error));
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

/** True when our tables are not as this release needs them, or the database user lacks a right to them. */
export function isSchemaUnusable(error: unknown): boolean {
  // First: most errors are about something else, and the texts are long.
  return isOfUnusable(error) && isOfOurs(error);
}

const isOfUnusable = hasCode(UNUSABLE_STATES);

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

/** True when the database, or what somebody has added to it, does not do our work. What is to be done is all right: repeat it. */
export function isDatabaseAtFault(error: unknown): boolean {
  return isDatabaseUnavailable(error) || isTriggerBroken(error);
}

/** Whether the statement names our tables, or is a COMMIT of ours, at which a deferred trigger runs. */
function isOfOurs(error: unknown): boolean {
  const texts = chain(error).map(({ query }) => (typeof query === 'string' ? query : ''));
  return [...ownTables.values(), OWN_COMMIT].some((ours) => texts.some((text) => ours.test(text)));
}

function isAway({ code, name, message, severity }: ErrorLike): boolean {
  if (typeof name === 'string' && AWAY_NAMES.test(name)) return true;
  if (typeof code !== 'string') return typeof message === 'string' && AWAY_MESSAGE.test(message);
  if ([AWAY_STATES, NO_NETWORK, NO_SOCKET, OWN_AWAY].some((codes) => codes.test(code))) return true;
  return FATAL.test(String(severity)) && !CONFLICTS.test(code) && !LIMITS.test(code);
}

/** True when it may be about some rows only: our side gave up waiting, or a page of a table or an index is damaged. */
export function isOfRows(error: unknown): boolean {
  return isGivenUp(error) || isDamaged(error);
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

/** A test for errors of which one, in the chain of causes, has a code like these. */
function hasCode(...codes: readonly RegExp[]): (error: unknown) => boolean {
  return (error) => chain(error).some(({ code }) => typeof code === 'string' && codes.some((one) => one.test(code)));
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

/** True when the server refuses to write, which is so for its other sessions as well. */
export function isReadOnlySession(error: unknown): boolean {
  return READ_ONLY.test(ownCode(error));
}

/** True when there was no answer; whether the server executed the statement is unknown. */
export function isUnanswered(error: unknown): boolean {
  const isOfPg = error instanceof Error && error.message === PG_NO_ANSWER;
  return isOfPg || ownCode(error) === 'ORDER_TIMEOUT/DATABASE_NO_ANSWER';
}

/** True when our side gave the connection up, because no answer came in time. */
export function isGivenUp(error: unknown): boolean {
  return chain(error).some(isUnanswered);
}

/**
 * True when the session that reported this must not be used again: a pool would hand it out again, and every user would
 * fail the same way.
 */
export function isSessionLost(error: unknown): boolean {
  return isReadOnlySession(error) || isUnanswered(error) || ENDED.test(ownCode(error));
}

/** Not that of a cause. */
function ownCode(error: unknown): string {
  const code = chain(error)[0]?.code;
  return typeof code === 'string' ? code : '';
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

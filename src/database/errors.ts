import { CodedError } from '../errors';

/** A caller's transaction reads from a snapshot that may be older than the lock on the order. Nothing was written. */
export class UnsupportedIsolationLevelError extends CodedError {
  /** @param level as PostgreSQL names it, e.g. `REPEATABLE READ`. */
  constructor(readonly level: string) {
    super(
      'UNSUPPORTED_ISOLATION_LEVEL',
      `this transaction is ${level}: it could miss a payment attempt that was registered after its snapshot. ` +
        'Start it at READ COMMITTED, or call without a transaction',
    );
  }
}

/**
 * A statement of the transaction failed, and whoever sent it went on. PostgreSQL takes no more statements then, and answers
 * COMMIT with a rollback, without an error. Nothing was written. `cause`: the failed statement, if it is known.
 */
export class AbortedTransactionError extends CodedError {
  constructor(options?: { cause?: unknown }) {
    const { message } = (options?.cause ?? {}) as { message?: unknown };
    const which = typeof message === 'string' ? ` (${message})` : '';
    super(
      'TRANSACTION_ABORTED',
      `a statement of the transaction failed${which}, and its error was caught, so nothing can be committed; let the error ` +
        'through, use ON CONFLICT DO NOTHING, or run the statement in a nested transaction of its own',
      options,
    );
  }
}

/** A migration has to change a table that another session keeps locked. */
export class LockedTablesError extends CodedError {
  constructor(
    readonly migration: string,
    cause: unknown,
  ) {
    super(
      'TABLES_LOCKED',
      `the migration ${migration} got no lock on a table of the package within a minute, because another session, such as pg_dump, uses it; ` +
        'nothing was changed. Start again when that session has ended (pg_stat_activity shows it by its xact_start)',
      { cause },
    );
  }
}

/** The database has migrations of a newer release that this one cannot work with. */
export class NewerSchemaError extends CodedError {
  constructor(
    readonly schema: string,
    readonly migrations: readonly string[],
  ) {
    super(
      'NEWER_SCHEMA',
      `schema "${schema}" was migrated by a newer release that this one cannot work with (${migrations.join(', ')}); deploy that release or restore a backup`,
    );
  }
}

/** Another transaction has changed what this one had read before it had its locks. It is tried again, as after a deadlock. */
export class ChangedMeanwhileError extends CodedError {
  /** @param what has happened, a sentence without its end. */
  constructor(what: string) {
    super('CHANGED_MEANWHILE', `${what} in the meantime; repeat the request`);
  }
}

/** PostgreSQL, or the network, is silent. */
export class NoAnswerError extends CodedError {
  /** @param sentence also says what became of the work. The service tries it again, and a command does not. */
  constructor(sentence: string) {
    super('DATABASE_NO_ANSWER', sentence);
  }
}

/** None of the servers of the URL takes writes at this moment; asked again with the next connection. */
export class NoWritableServerError extends CodedError {
  constructor(reasons: readonly string[]) {
    super('NO_WRITABLE_SERVER', `${reasons.join('; ')}; promote a standby, or start the primary`);
  }
}

/** The session is read-only. Its pool must not hand it out again. */
export class ReadOnlySessionError extends CodedError {
  constructor() {
    super(
      'DATABASE_READ_ONLY',
      'the server takes no writes; if it has become a standby, name all servers in the URL with target_session_attrs=read-write',
    );
  }
}

/** Thrown by work that wants what it wrote to be rolled back. It says nothing about the transaction of the caller. */
export abstract class ExpectedRollback extends Error {}

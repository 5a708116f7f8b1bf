import { serviceRights } from '../../database';
import { CodedError } from '../../errors';

/** A request to schedule that cannot be meant. Nothing was written. */
export class InvalidTimeoutError extends CodedError {
  constructor(readonly problems: readonly string[]) {
    super('INVALID_TIMEOUT', problems.join('; '));
  }
}

/** Two providers claim one kind. */
export class DuplicateTimeoutHandlerError extends CodedError {
  constructor(kind: string, first: string, second: string) {
    super('DUPLICATE_TIMEOUT_HANDLER', `kind "${kind}" is handled by ${first} and by ${second}; remove one of them`);
  }
}

/** A class is marked as handler but cannot handle. */
export class InvalidTimeoutHandlerError extends CodedError {
  constructor(kind: string, name: string) {
    super(
      'INVALID_TIMEOUT_HANDLER',
      `${name}, the handler of "${kind}", has neither a handle() nor a handleBatch() method`,
    );
  }
}

/** The database holds timeouts of a kind nobody handles; they would never end. */
export class MissingTimeoutHandlerError extends CodedError {
  constructor(kinds: readonly string[]) {
    super(
      'MISSING_TIMEOUT_HANDLER',
      `no provider has @TimeoutHandler for ${kinds.map((kind) => `"${kind}"`).join(', ')}, but timeouts of it are pending; ` +
        'provide the handler, or set consume: false in a process that only schedules',
    );
  }
}

/** Scheduling a kind that no handler of this process serves. */
export class UnknownTimeoutKindError extends CodedError {
  constructor(kind: string) {
    super('UNKNOWN_TIMEOUT_KIND', `kind "${kind}" has no @TimeoutHandler in this process; is the name spelled right?`);
  }
}

/** A batch handler broke its contract: one outcome per timeout, in order. */
export class HandlerContractError extends CodedError {
  constructor(kind: string, problem: string) {
    super('HANDLER_CONTRACT', `the handler of "${kind}" ${problem}`);
  }
}

/** A run of a handler did not end in time. Its connection was cut, so nothing that it wrote was kept. */
export class HandlerTimeoutError extends CodedError {
  /** Most of the time went into statements: the database is slow, and not the handler. */
  readonly isOfDatabase: boolean;
  /** What it was given, milliseconds. */
  readonly limitMs: number;

  constructor(
    readonly kind: string,
    readonly keys: readonly string[],
    { limitMs, statementsMs }: { readonly limitMs: number; readonly statementsMs: number },
  ) {
    const named = keys.slice(0, 3).map((key) => `"${key}"`);
    const more = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
    super(
      'HANDLER_TIMEOUT',
      `the handler of "${kind}" did not end within ${limitMs} ms for ${named.join(', ')}${more}, ` +
        `${Math.round(statementsMs)} ms of it in statements; its transaction was rolled back. ` +
        'Do remote calls in lookUp(), or set a longer runTimeoutMs',
    );
    this.limitMs = limitMs;
    this.isOfDatabase = statementsMs >= limitMs / 2;
  }
}

/** What a handler threw of its own: its ECONNREFUSED says nothing about our database, so it is counted. */
export class HandlerFailure extends Error {
  constructor(readonly thrown: unknown) {
    super(thrown instanceof Error ? thrown.message : String(thrown));
    if (thrown instanceof Error && thrown.stack) this.stack = thrown.stack;
  }
}

/** A test ran what is due, and another transaction keeps a due timeout locked. */
export class DueTimeoutLockedError extends CodedError {
  constructor({ kind, key }: { readonly kind: string; readonly key: string }, waitedMs: number) {
    super(
      'DUE_TIMEOUT_LOCKED',
      `timeout "${key}" of "${kind}" is due, but another transaction has kept it locked for ${waitedMs} ms; ` +
        'end the transactions of the test before runDue()',
    );
  }
}

/** A test ran what is due, and it never ended. */
export class EndlessTimeoutsError extends CodedError {
  constructor(pages: number) {
    super(
      'ENDLESS_TIMEOUTS',
      `after ${pages} batches there is still a due timeout; does a handler reschedule to a time in the past?`,
    );
  }
}

/** The database user may not do what we need. */
export class MissingRightsError extends CodedError {
  constructor(sentence: string, options?: { cause?: unknown }) {
    super('MISSING_RIGHTS', sentence, options);
  }

  /** @param user as SQL takes it, quoted where it must be @param lacking for example `INSERT on orders` */
  static toUse(schema: string, user: string, lacking: string): MissingRightsError {
    return new MissingRightsError(
      `the database user ${user} lacks ${lacking} in schema "${schema}"; run as the owner of the tables: ` +
        serviceRights(schema, user).join(' '),
    );
  }

  /** @param hidden tables of which row-level security hides rows */
  static toSee(schema: string, user: string, hidden: readonly string[]): MissingRightsError {
    const off = hidden.map((name) => `ALTER TABLE ${schema}.${name} DISABLE ROW LEVEL SECURITY;`).join(' ');
    return new MissingRightsError(
      `row-level security hides rows of ${hidden.join(', ')} from ${user}, and what is hidden may be money; run as the ` +
        `owner of the tables: ${off}`,
    );
  }
}

/** The database, or the sessions of the host's pool, have a setting with which the package cannot work. */
export class UnsuitableDatabaseError extends CodedError {
  constructor(sentence: string) {
    super('UNSUITABLE_DATABASE', sentence);
  }
}

/** The schema has not been migrated, or not by this release. */
export class MissingTablesError extends CodedError {
  /** @param missing for example `the tables outbox, timeout` */
  constructor(database: string, schema: string, missing: string) {
    super(
      'MISSING_TABLES',
      `schema "${schema}" of database "${database}" lacks ${missing}; run npx order-timeout migrations run, call migrate(dataSource, '${schema}') ` +
        'before the start, or let OrderTimeoutModule do it with migrate: true',
    );
  }
}

/** The test kit was pointed at the tables of a running application. It moves their times, so it would close real orders. */
export class NotATestDatabaseError extends CodedError {
  constructor(database: string, schema: string) {
    super(
      'NOT_A_TEST_DATABASE',
      `an application has run on schema "${schema}" of database "${database}", and the test kit would change its data; ` +
        'give the tests a database of their own, or a schema: OrderTimeoutTestKit.override(builder, { schema })',
    );
  }
}

/** The host's own tables would be created among ours, where its next `synchronize` would change or drop them. */
export class SharedSchemaError extends CodedError {
  constructor(
    readonly schema: string,
    sentence: string,
  ) {
    super('SHARED_SCHEMA', sentence);
  }
}

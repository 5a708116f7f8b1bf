import { CodedError } from '../errors';

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

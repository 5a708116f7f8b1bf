import { CodedError } from '../../errors';

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

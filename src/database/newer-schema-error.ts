import { CodedError } from '../errors';

/** The database knows migrations that this release does not. */
export class NewerSchemaError extends CodedError {
  constructor(
    readonly schema: string,
    readonly migrations: readonly string[],
  ) {
    super(
      'NEWER_SCHEMA',
      `schema "${schema}" was migrated by a newer release (${migrations.join(', ')}); deploy that release or restore a backup`,
    );
  }
}

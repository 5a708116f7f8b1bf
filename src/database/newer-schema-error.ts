import { CodedError } from '../errors';

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

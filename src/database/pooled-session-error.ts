import { CodedError } from '../errors';

/** PostgreSQL does not know the statement that this connection prepared, or already has it from another one. */
export class PooledSessionError extends CodedError {
  constructor(cause: Error) {
    super(
      'POOLED_SESSION',
      `${cause.message}: a pooler in transaction mode, such as PgBouncer, shares the session. ` +
        'Set DATABASE_PREPARED_STATEMENTS=off, or `extra.Client` of your DataSource to ResilientClient',
      { cause },
    );
  }
}

import { CodedError } from '../errors';

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

import { CodedError } from '../../errors';

/** What was passed as `tx` is no transaction that the call can write in, or has ended. Nothing of the call is stored. */
export class UnusableTransactionError extends CodedError {
  constructor(sentence: string, options?: { cause?: unknown }) {
    super('UNUSABLE_TRANSACTION', sentence, options);
  }

  static outside(library: string): UnusableTransactionError {
    return new UnusableTransactionError(
      `this object of ${library} is in no transaction, so each statement would commit by itself; pass the one that the ` +
        `function of your transaction receives from ${library}`,
    );
  }
}

import { CodedError } from '../../errors';

/** What was passed as `tx` is no transaction, or one that needs a function to adapt it. Nothing was written. */
export class UnusableTransactionError extends CodedError {
  constructor(sentence: string) {
    super('UNUSABLE_TRANSACTION', sentence);
  }

  static outside(library: string): UnusableTransactionError {
    return new UnusableTransactionError(
      `this object of ${library} is in no transaction, so each statement would commit by itself; pass the one that the ` +
        `function of your transaction receives from ${library}`,
    );
  }
}

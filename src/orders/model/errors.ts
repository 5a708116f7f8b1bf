import { CodedError } from '../../errors';

/** Input of a caller in the same process is invalid. Nothing was written. */
export class InvalidOrderError extends CodedError {
  constructor(readonly problems: readonly string[]) {
    super('INVALID_ORDER', problems.join('; '));
  }
}

/** Two listeners have one name, so the deliveries of one would go to the other. */
export class DuplicateOrderListenerError extends CodedError {
  constructor(readonly listener: string) {
    super(
      'DUPLICATE_ORDER_LISTENER',
      `two order listeners are called "${listener}"; provide the class once, or name each: @OnOrder(…, { name: '…' })`,
    );
  }
}

/** A method is marked as a listener and cannot be one. */
export class InvalidOrderListenerError extends CodedError {
  constructor(
    readonly listener: string,
    problem: string,
  ) {
    super('INVALID_ORDER_LISTENER', `the order listener ${listener} ${problem}`);
  }
}

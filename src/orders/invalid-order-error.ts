import { CodedError } from '../errors';

/** Input of a caller in the same process that cannot be meant. Nothing was written. */
export class InvalidOrderError extends CodedError {
  constructor(readonly problems: readonly string[]) {
    super('INVALID_ORDER', problems.join('; '));
  }
}

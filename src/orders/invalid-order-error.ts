import { CodedError } from '../errors';

/** Input of a caller in the same process is invalid. Nothing was written. */
export class InvalidOrderError extends CodedError {
  constructor(readonly problems: readonly string[]) {
    super('INVALID_ORDER', problems.join('; '));
  }
}

import { CodedError } from '../errors';

/** None of the servers of the URL takes writes at this moment; asked again with the next connection. */
export class NoWritableServerError extends CodedError {
  constructor(reasons: readonly string[]) {
    super('NO_WRITABLE_SERVER', `${reasons.join('; ')}; promote a standby, or start the primary`);
  }
}

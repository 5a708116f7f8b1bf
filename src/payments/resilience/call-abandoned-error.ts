import { CodedError } from '../../errors';

/**
 * The caller's signal aborted during a call. Never leaves ResilientProvider.
 * @internal
 */
export class CallAbandonedError extends CodedError {
  constructor() {
    super('CALL_ABANDONED', 'the caller gave up before the payment provider answered; look the payment up again');
  }
}

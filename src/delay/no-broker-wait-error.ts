import { CodedError } from '../errors';

/** A route through the broker was requested, although the configuration says that nothing waits there. */
export class NoBrokerWaitError extends CodedError {
  constructor(readonly kind: string) {
    super(
      'NO_BROKER_WAIT',
      `a wake-up of kind "${kind}" cannot be published with the transport "none": it waits in PostgreSQL and the ` +
        'sweep finds it; configure the transport "auto" or "ladder" to let the broker wait',
    );
  }
}

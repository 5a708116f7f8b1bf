import { CodedError } from '../errors';

/** A command was sent again, and no queue takes commands. It stays parked. */
export class CommandQueueMissingError extends CodedError {
  constructor(exchange: string) {
    super(
      'COMMAND_QUEUE_MISSING',
      `no queue is bound to the exchange "${exchange}", so the broker returned the command, and it stays parked; start an ` +
        'instance of the service, which declares the queue',
    );
  }
}

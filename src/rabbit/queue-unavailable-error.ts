import { CodedError } from '../errors';

/** A queue is there and does not serve: a quorum queue without a leader. Logged and not thrown at a caller, as it may come back. */
export class QueueUnavailableError extends CodedError {
  constructor(
    readonly queue: string,
    ms: number,
  ) {
    super(
      'QUEUE_UNAVAILABLE',
      `the broker did not let us consume the queue "${queue}" within ${ms} ms; a quorum queue that has no leader does ` +
        `that. If most of its nodes are up, delete it (rabbitmqctl delete_queue "${queue}") and it is declared anew; ` +
        'the queues of others are consumed as usual',
    );
  }
}

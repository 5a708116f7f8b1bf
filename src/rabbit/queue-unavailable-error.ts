import { CodedError } from '../errors';

/** A queue exists and cannot be consumed: a quorum queue without a leader. It is logged only, because the queue may recover. */
export class QueueUnavailableError extends CodedError {
  constructor(
    readonly queue: string,
    ms: number,
  ) {
    super(
      'QUEUE_UNAVAILABLE',
      `the broker did not let us consume the queue "${queue}" within ${ms} ms, so it is probably a quorum queue without ` +
        `a leader. If most of its nodes are up, delete it (rabbitmqctl delete_queue "${queue}"): it is declared again, ` +
        'without what it held. Other queues are consumed as usual',
    );
  }
}

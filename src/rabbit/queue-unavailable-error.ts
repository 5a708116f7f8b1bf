import { CodedError } from '../errors';

/**
 * A queue exists but cannot be consumed: a quorum queue without a leader. Only logged, because the queue may recover.
 */
export class QueueUnavailableError extends CodedError {
  constructor(
    readonly queue: string,
    ms: number,
  ) {
    super(
      'QUEUE_UNAVAILABLE',
      `the queue "${queue}" could not be consumed within ${ms} ms, so it is probably a quorum queue without ` +
        `a leader. If most of its nodes are up, delete it (rabbitmqctl delete_queue "${queue}"): it is declared again, ` +
        'without its messages. Other queues are consumed as usual',
    );
  }
}

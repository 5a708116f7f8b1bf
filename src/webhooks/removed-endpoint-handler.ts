import { type Clock } from '../clock';
import { type DueTimeout, type TimeoutHandlerBatch, type TimeoutOutcome } from '../timeouts';

/** Longer than a rollout, in which another instance may have the endpoint already, or still. */
const PATIENCE_MS = 3_600_000;
const PAUSE_MS = 60_000;

/** Keeps deliveries of an endpoint that is not configured here for an hour, and then parks them. */
export class RemovedEndpointHandler implements TimeoutHandlerBatch {
  constructor(
    private readonly endpoint: string,
    private readonly clock: Clock,
  ) {}

  handleBatch(timeouts: readonly DueTimeout[]): Promise<TimeoutOutcome[]> {
    const reason = `the webhook endpoint "${this.endpoint}" is not configured; configure it and replay, or discard`;
    const before = this.clock.now() - PATIENCE_MS;
    return Promise.resolve(
      timeouts.map(({ dueAt }) =>
        dueAt.getTime() < before
          ? { type: 'park', reason }
          : { type: 'retry', counted: false, afterMs: PAUSE_MS, reason },
      ),
    );
  }
}

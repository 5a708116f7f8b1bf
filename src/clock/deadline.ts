import { type Clock } from './clock';
import { withTimeout } from './with-timeout';

/** One point in time that several waits share, so that together they do not exceed its limit. */
export class Deadline {
  private readonly endsAt: number;

  constructor(
    private readonly clock: Clock,
    ms: number,
  ) {
    this.endsAt = clock.monotonic() + ms;
  }

  /** Remaining milliseconds, at least `atLeastMs`. */
  left(atLeastMs = 0): number {
    return Math.max(this.endsAt - this.clock.monotonic(), atLeastMs);
  }

  /** Resolves to the result of `work`, or to `otherwise` if the deadline comes first. */
  within<T>(work: Promise<T>, otherwise: T): Promise<T> {
    return withTimeout(this.clock, this.left(), work, otherwise);
  }
}

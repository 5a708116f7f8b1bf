import { type Logger } from '@nestjs/common';
import { type Clock } from '../clock';

/** Interval for each cause, so that a broker that refuses everything does not fill the log. */
const REPEAT_MS = 60_000;

interface Cause {
  count: number;
  saidAt: number;
}

/** Logs messages that were not confirmed: each cause at once, and then once a minute with their number. */
export class PublishFailures {
  private readonly causes = new Map<string, Cause>();

  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  add(what: string, count: number): void {
    if (count === 0) return;
    const now = this.clock.monotonic();
    const cause = this.causes.get(what) ?? { count: 0, saidAt: -Infinity };
    this.causes.set(what, cause);
    cause.count += count;
    if (now - cause.saidAt < REPEAT_MS) return;
    this.logger.warn(`${cause.count} messages ${what}`);
    cause.count = 0;
    cause.saidAt = now;
  }
}

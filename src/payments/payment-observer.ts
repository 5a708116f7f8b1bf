import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { type Clock, CLOCK, SystemClock } from '../clock';

/** Where an untrusted message came from. */
export type UntrustedSource = 'answer' | 'notification';

/** Is told about untrusted provider messages, for metrics. Must not throw. */
export interface PaymentObserver {
  /** A forged, unsigned, or misdirected answer or notification. It changed nothing. */
  untrusted(provider: string, source: UntrustedSource, reason: string): void;
}

/** Anyone can post notifications, so forged ones must not fill the disk with log lines. */
const LINES_PER_SECOND = 20;

/** Passes untrusted messages on to all observers, and logs them. */
@Injectable()
export class PaymentObservers implements PaymentObserver {
  private readonly logger = new Logger('Payments');
  private readonly observers = new Set<PaymentObserver>();
  private second = { endsAt: 0, lines: 0 };

  /** @internal Nest creates it. */
  constructor(@Optional() @Inject(CLOCK) private readonly clock: Clock = new SystemClock()) {}

  add(observer: PaymentObserver): void {
    this.observers.add(observer);
  }

  untrusted(provider: string, source: UntrustedSource, reason: string): void {
    if (this.mayLog()) this.logger.warn(`${provider}: untrusted ${source}: ${reason}`);
    for (const observer of this.observers) observer.untrusted(provider, source, reason);
  }

  private mayLog(): boolean {
    const now = this.clock.monotonic();
    if (now >= this.second.endsAt) {
      const dropped = this.second.lines - LINES_PER_SECOND;
      if (dropped > 0) this.logger.warn(`${dropped} more untrusted answers or notifications were not logged`);
      this.second = { endsAt: now + 1_000, lines: 0 };
    }
    this.second.lines += 1;
    return this.second.lines <= LINES_PER_SECOND;
  }
}

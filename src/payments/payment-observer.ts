import { Logger } from '@nestjs/common';

/** Where something came from that is not to be believed. */
export type UntrustedSource = 'answer' | 'notification';

/** Hears of what happens at the providers. For metrics; must not throw. */
export interface PaymentObserver {
  /** A forged, unsigned or misdirected answer or notification. It has changed nothing. */
  untrusted(provider: string, source: UntrustedSource, reason: string): void;
}

/** Several observers as one, and the log. */
export class PaymentObservers implements PaymentObserver {
  private readonly logger = new Logger('Payments');
  private readonly observers = new Set<PaymentObserver>();

  add(observer: PaymentObserver): void {
    this.observers.add(observer);
  }

  untrusted(provider: string, source: UntrustedSource, reason: string): void {
    this.logger.warn(`${provider}: untrusted ${source}: ${reason}`);
    for (const observer of this.observers) observer.untrusted(provider, source, reason);
  }
}

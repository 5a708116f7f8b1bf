import { Counter, Gauge, type Registry } from 'prom-client';
import {
  type BreakerState,
  ResilientProvider,
  type PaymentObserver,
  type PaymentProviders,
  type UntrustedSource,
} from '../payments';

/** Values of the gauge. */
const BREAKER_LEVEL: Readonly<Record<BreakerState, number>> = { closed: 0, 'half-open': 1, open: 2 };

const SOURCES: readonly UntrustedSource[] = ['answer', 'notification'];

/** Metrics of the payment providers. */
export class PaymentMetrics implements PaymentObserver {
  private readonly untrustedTotal: Counter<'provider' | 'source'>;
  private readonly breaker: Gauge<'provider'>;

  constructor(
    registry: Registry,
    private readonly providers: PaymentProviders,
  ) {
    const registers = [registry];
    this.untrustedTotal = new Counter({
      name: 'order_timeout_untrusted_total',
      help: 'Forged, unsigned, or misdirected answers and notifications of payment providers. None changed an order',
      labelNames: ['provider', 'source'],
      registers,
      collect: () => this.beginAtZero(),
    });
    this.breaker = new Gauge({
      name: 'order_timeout_provider_breaker',
      help: 'Circuit breaker of a payment provider: 0 closed, 1 half-open, 2 open (the provider is not called)',
      labelNames: ['provider'],
      registers,
      collect: () => this.refresh(),
    });
  }

  untrusted(provider: string, source: UntrustedSource): void {
    this.untrustedTotal.inc({ provider, source });
  }

  /** A counter that is absent until its first event hides that event from `increase`. */
  private beginAtZero(): void {
    for (const provider of this.providers.names())
      for (const source of SOURCES) this.untrustedTotal.inc({ provider, source }, 0);
  }

  private refresh(): void {
    for (const name of this.providers.names()) {
      const provider = this.providers.get(name);
      if (provider instanceof ResilientProvider)
        this.breaker.set({ provider: name }, BREAKER_LEVEL[provider.breakerState]);
    }
  }
}

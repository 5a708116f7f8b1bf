import { ownValue } from '../errors';
import { checkPolicyOptions, type OrderPolicy, type OrderPolicyOptions, resolvePolicy } from './order-policy-options';

/** Resolves policies: the order's own value, then its merchant's, then the global one. */
export class OrderPolicies {
  private readonly base: OrderPolicy;
  private readonly merchants: ReadonlyMap<string, OrderPolicy>;

  /** @throws InvalidOptionsError that names every invalid value. */
  constructor({ merchants = {}, ...base }: OrderPolicyOptions = {}) {
    checkPolicyOptions({ ...base, merchants });
    this.base = resolvePolicy(base);
    this.merchants = new Map(Object.entries(merchants).map(([id, own]) => [id, resolvePolicy(base, own)]));
  }

  /** Whether orders of any merchant are announced. */
  get sendPlacedEvents(): boolean {
    return [this.base, ...this.merchants.values()].some(({ placedEvents }) => placedEvents === 'send');
  }

  of(merchantId: string): OrderPolicy {
    return this.merchants.get(merchantId) ?? this.base;
  }

  /** Grace of an order: its own or its merchant's, but at least what its payment method needs. */
  graceMs(merchantId: string, provider?: string, own?: number): number {
    const policy = this.of(merchantId);
    const ofMethod = provider === undefined ? undefined : ownValue(policy.graceMsByProvider, provider);
    return Math.max(own ?? policy.graceMs, ofMethod ?? 0);
  }

  /** Whether a payment window is within the merchant's limits. */
  allowsWindow(merchantId: string, windowMs: number): boolean {
    const { minPaymentWindowMs, maxPaymentWindowMs } = this.of(merchantId);
    return windowMs >= minPaymentWindowMs && windowMs <= maxPaymentWindowMs;
  }
}

import { z } from 'zod';
import { integer, oneOf, optionsOf, ownValue, parseOptions, recordOf, withoutUndefined } from '../../errors';

/** Resolves policies: the order's own value, then its merchant's, then the global one. */
export class OrderPolicies {
  private readonly base: OrderPolicy;
  private readonly merchants: ReadonlyMap<string, OrderPolicy>;

  /** @throws InvalidOptionsError that names every invalid value. */
  constructor(options: OrderPolicyOptions = {}) {
    const { merchants = {}, ...base } = parseOptions('orders', orderPolicyOptions, options);
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

/** How long buyers have, and what happens around the deadline. All values are in milliseconds. */
export interface OrderPolicy {
  /** From placing the order to its deadline. @default 1_800_000 (30 min) */
  readonly paymentWindowMs: number;
  /** From the deadline to the start of closing. The buyer never sees it. @default 0 */
  readonly graceMs: number;
  /** Longer grace for single payment methods, by provider name. @default {} */
  readonly graceMsByProvider: Readonly<Record<string, number>>;
  /** How long before the deadline `order.expiring` is sent; empty for never. @default [300_000] (5 min) */
  readonly reminderOffsetsMs: readonly number[];
  /** Shortest payment window that an order may request. @default 0 */
  readonly minPaymentWindowMs: number;
  /** Longest payment window that an order may request, including extensions. @default 31_622_400_000 (366 days) */
  readonly maxPaymentWindowMs: number;
  /**
   * What happens to money for a closed order: `revive-if-stock` makes it PAID if its goods are in stock, and otherwise
   * refunds, as `refund` does; `keep` waits for a person. A canceled order is never revived. @default 'revive-if-stock'
   */
  readonly latePayment: 'revive-if-stock' | 'refund' | 'keep';
  /** What happens to a payment that the order does not need. @default 'refund' */
  readonly surplusPayment: 'refund' | 'keep';
  /**
   * What happens to an excess although the order needs each payment: `keep`, or `refund-excess` if the provider can
   * refund in part. @default 'keep'
   */
  readonly overpayment: 'keep' | 'refund-excess';
  /**
   * What happens at the deadline to an order that is paid in part or in another currency: `refund-and-close`, or
   * `park` with its stock, for a person. @default 'refund-and-close'
   */
  readonly partialPayment: 'refund-and-close' | 'park';
  /**
   * How long after the end of an order its closed attempts are looked up again; empty for never.
   * @default [1 min, 10 min, 2 h, 25 h]: later than every provider's last notification
   */
  readonly lateWatchOffsetsMs: readonly number[];
  /** The most payment attempts of one order, in any state. @default 50 */
  readonly maxAttempts: number;
  /**
   * What happens to an attempt whose provider or merchant account is not configured in this process: `refuse`, or
   * `allow`: at its deadline the order waits until the provider is configured. @default 'refuse'
   */
  readonly unknownProviders: 'refuse' | 'allow';
  /** Whether each placed order is announced by the event `order.placed`: `send` or `none`. @default 'none' */
  readonly placedEvents: 'send' | 'none';
}

/** The module's options: every value has a default, and merchants may have their own values. */
export interface OrderPolicyOptions extends Partial<OrderPolicy> {
  /** Policies of single merchants, by merchant id. Others come from the global policies. */
  readonly merchants?: Readonly<Record<string, Partial<OrderPolicy>>>;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * The limits for the fields of orders, attempts, payments, and stock. This is their only definition: HTTP, AMQP, the
 * module API, options, and environment use it, and a test compares it with the CHECK constraints of the tables.
 */
export const LIMITS = {
  /**
   * Ids of orders and merchants, without "." and "..", which a URL resolves away; 0.2.0 took them. Without a look-ahead,
   * which other languages lack.
   */
  id: /^(?:[A-Za-z0-9_:-][A-Za-z0-9_:.-]{0,63}|\.[A-Za-z0-9_:-][A-Za-z0-9_:.-]{0,62}|\.\.[A-Za-z0-9_:.-]{1,62})$/,
  provider: /^[A-Za-z0-9_.-]{1,64}$/,
  currency: /^[A-Z]{3}$/,
  idempotencyKey: /^[\x20-\x7e]{1,255}$/,
  /** Characters, not bytes. */
  reference: 255,
  merchantAccount: 128,
  /** Stripe's ids may be this long. */
  transactionId: 255,
  sku: 128,
  reason: 500,
  /** Who acts, in the history. */
  actor: 128,
  /**
   * Events and HTTP carry money as JSON numbers, so amounts that JSON numbers cannot represent exactly are rejected.
   */
  money: Number.MAX_SAFE_INTEGER,
  /** Pieces per line. */
  quantity: 1_000_000,
  /** Pieces on hand: a 32-bit integer. */
  stock: 2 ** 31 - 1,
  /** The engine accepts deadlines of at most ten years. */
  windowMs: 3_650 * DAY,
  /** A 32-bit integer: 24.8 days. */
  graceMs: 2 ** 31 - 1,
  lines: 100,
  reminders: 10,
  watches: 10,
  /** Orders per bulk request. */
  orders: 1_000,
  /** Orders per page of a list. */
  page: 200,
  metadataBytes: 8_192,
  /** Deeper data is not a sensible note on an order, and costs a stack frame per level in every traversal. */
  metadataDepth: 16,
  /** Four-digit years only. Other values are mistakes in the unit or the calendar. */
  earliest: new Date('2000-01-01T00:00:00Z'),
  latest: new Date('9999-12-31T23:59:59.999Z'),
} as const;

const DEFAULTS: OrderPolicy = {
  paymentWindowMs: 30 * MINUTE,
  graceMs: 0,
  graceMsByProvider: {},
  reminderOffsetsMs: [5 * MINUTE],
  minPaymentWindowMs: 0,
  maxPaymentWindowMs: 366 * DAY,
  latePayment: 'revive-if-stock',
  surplusPayment: 'refund',
  overpayment: 'keep',
  partialPayment: 'refund-and-close',
  lateWatchOffsetsMs: [MINUTE, 10 * MINUTE, 2 * HOUR, 25 * HOUR],
  maxAttempts: 50,
  unknownProviders: 'refuse',
  placedEvents: 'none',
};

const windowMs = integer(0, LIMITS.windowMs, ' milliseconds');

const graceMs = integer(0, LIMITS.graceMs, ' milliseconds');

const offsetsMs = (most: number): z.ZodArray<typeof windowMs> =>
  z.array(windowMs, 'must be a list of milliseconds').max(most, `may have at most ${most} entries`);

const policy = optionsOf({
  paymentWindowMs: windowMs,
  graceMs,
  graceMsByProvider: recordOf(graceMs).superRefine((given, context) => {
    for (const name of Object.keys(given).filter((each) => !LIMITS.provider.test(each)))
      context.addIssue({ code: 'custom', path: [name], message: 'is not a valid provider name' });
  }),
  reminderOffsetsMs: offsetsMs(LIMITS.reminders),
  minPaymentWindowMs: windowMs,
  maxPaymentWindowMs: windowMs,
  latePayment: oneOf(['revive-if-stock', 'refund', 'keep']),
  surplusPayment: oneOf(['refund', 'keep']),
  overpayment: oneOf(['keep', 'refund-excess']),
  partialPayment: oneOf(['refund-and-close', 'park']),
  lateWatchOffsetsMs: offsetsMs(LIMITS.watches),
  // More could not be looked up in the 18 s of one run, even at 50 calls per second.
  maxAttempts: integer(1, 1_000),
  unknownProviders: oneOf(['refuse', 'allow']),
  placedEvents: oneOf(['send', 'none']),
} satisfies Record<keyof OrderPolicy, z.ZodType>).partial();

const policies = optionsOf({
  ...policy.shape,
  merchants: recordOf(policy).optional(),
} satisfies Record<keyof OrderPolicyOptions, z.ZodType>);

// zod's type of an optional key allows undefined, which counts as not given.
export const orderPolicyOptions = (policies as z.ZodType<OrderPolicyOptions, OrderPolicyOptions>).superRefine(
  ({ merchants, ...base }, context) => {
    const complain = (path: string[], message: string): void => context.addIssue({ code: 'custom', path, message });
    const checkWindow = ({ paymentWindowMs: window, ...rest }: OrderPolicy, path: string[]): void => {
      const { minPaymentWindowMs: min, maxPaymentWindowMs: max } = rest;
      if (!(window < min || window > max)) return;
      const wanted = `must be between minPaymentWindowMs, ${min}, and maxPaymentWindowMs, ${max}`;
      complain([...path, 'paymentWindowMs'], `${wanted} (got ${window})`);
    };
    checkWindow(resolvePolicy(base), []);
    for (const [id, own] of Object.entries(merchants ?? {})) {
      const path = ['merchants', id];
      if (!LIMITS.id.test(id)) complain(path, `is not a valid merchant id: it must match ${LIMITS.id.source}`);
      checkWindow(resolvePolicy(base, own), path);
    }
  },
  // Besides other problems, too.
  { when: ({ value }) => typeof value === 'object' && value !== null },
);

/** @param own null is refused elsewhere */
function resolvePolicy(base: Partial<OrderPolicy>, own?: Partial<OrderPolicy> | null): OrderPolicy {
  // In an instance of a class, what is not set is undefined.
  return Object.freeze({ ...DEFAULTS, ...withoutUndefined(base), ...withoutUndefined(own ?? {}) });
}

import { InvalidOptionsError } from '../errors';
import { LIMITS } from './limits';

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
   * What happens to money that arrives after the order was closed.
   * - `revive-if-stock`: the order becomes PAID if its goods are in stock; otherwise the money is refunded.
   * - `refund`: it is refunded.
   * - `keep`: it waits for a person in unmatched_payment.
   *
   * Money for a canceled order never revives it. @default 'revive-if-stock'
   */
  readonly latePayment: 'revive-if-stock' | 'refund' | 'keep';
  /** What happens to a payment that the order does not need, because another one has paid it. @default 'refund' */
  readonly surplusPayment: 'refund' | 'keep';
  /**
   * What happens to money that is too much although the order needs each payment: `keep`, or `refund-excess`: the excess
   * is refunded if the provider can refund a part of a payment. Otherwise it is kept. @default 'keep'
   */
  readonly overpayment: 'keep' | 'refund-excess';
  /**
   * What happens at the deadline to an order that is paid in part or in another currency: `refund-and-close`, or
   * `park`: it keeps its stock and waits for a person. @default 'refund-and-close'
   */
  readonly partialPayment: 'refund-and-close' | 'park';
  /**
   * How long after the end of an order its closed attempts are looked up again, because notifications get lost and a
   * close may be confirmed too early; empty for never. @default [1 min, 10 min, 2 h, 25 h]: later than every provider's
   * last repetition of a notification
   */
  readonly lateWatchOffsetsMs: readonly number[];
  /**
   * The most payment attempts of one order, in any state. Each is looked up at the deadline, and providers limit the
   * rate of calls. @default 50
   */
  readonly maxAttempts: number;
  /**
   * What happens to an attempt whose provider or merchant account is not configured in this process: `refuse`, or
   * `allow`: it is registered, and at its deadline the order waits until the provider is configured. @default 'refuse'
   */
  readonly unknownProviders: 'refuse' | 'allow';
  /**
   * Whether each placed order is announced by the event `order.placed`: `send` or `none`. Each event is one more message
   * and one more row that is written and deleted. @default 'none'
   */
  readonly placedEvents: 'send' | 'none';
}

/** The module's options: every value has a default, and merchants may have their own values. */
export interface OrderPolicyOptions extends Partial<OrderPolicy> {
  /** Policies of single merchants, by merchant id. Missing values come from the global policies. */
  readonly merchants?: Readonly<Record<string, Partial<OrderPolicy>>>;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

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

/** The names of all policies. */
export const POLICIES: readonly string[] = Object.keys(DEFAULTS);

/** More could not be looked up in the 18 s of one run, even at 50 calls per second. */
const MOST_ATTEMPTS = 1_000;

/** The policies whose values are words. */
export const POLICY_WORDS = {
  latePayment: ['revive-if-stock', 'refund', 'keep'],
  surplusPayment: ['refund', 'keep'],
  overpayment: ['keep', 'refund-excess'],
  partialPayment: ['refund-and-close', 'park'],
  unknownProviders: ['refuse', 'allow'],
  placedEvents: ['send', 'none'],
} as const;

/** @throws InvalidOptionsError that names every invalid value. */
export function resolvePolicy(base: Partial<OrderPolicy>, own: Partial<OrderPolicy> = {}): OrderPolicy {
  return Object.freeze({ ...DEFAULTS, ...base, ...own });
}

/** Checks all options, including those of merchants. Throws if there are problems. */
export function checkPolicyOptions({ merchants = {}, ...base }: OrderPolicyOptions): void {
  const problems = problemsOf(resolvePolicy(base), '');
  for (const [merchant, own] of Object.entries(merchants)) {
    if (!LIMITS.id.test(merchant))
      problems.push(`merchants.${merchant} is not a valid merchant id: it must match ${LIMITS.id.source}`);
    problems.push(...problemsOf(resolvePolicy(base, own), `merchants.${merchant}.`));
  }
  if (problems.length > 0) throw new InvalidOptionsError('orders', [...new Set(problems)]);
}

function problemsOf(policy: OrderPolicy, at: string): string[] {
  const problems: string[] = [];
  const check = (name: string, value: number, max: number): void => {
    if (Number.isInteger(value) && value >= 0 && value <= max) return;
    problems.push(`${at}${name} must be an integer from 0 to ${max} milliseconds (got ${value})`);
  };
  check('paymentWindowMs', policy.paymentWindowMs, LIMITS.windowMs);
  check('graceMs', policy.graceMs, LIMITS.graceMs);
  check('minPaymentWindowMs', policy.minPaymentWindowMs, LIMITS.windowMs);
  check('maxPaymentWindowMs', policy.maxPaymentWindowMs, LIMITS.windowMs);
  for (const [name, ms] of Object.entries(policy.graceMsByProvider)) {
    check(`graceMsByProvider.${name}`, ms, LIMITS.graceMs);
    if (!LIMITS.provider.test(name)) problems.push(`${at}graceMsByProvider.${name} is not a valid provider name`);
  }
  for (const offset of policy.reminderOffsetsMs) check('reminderOffsetsMs', offset, LIMITS.windowMs);
  policy.lateWatchOffsetsMs.forEach((ms, index) => check(`lateWatchOffsetsMs.${index}`, ms, LIMITS.windowMs));
  if (policy.lateWatchOffsetsMs.length > LIMITS.watches) {
    problems.push(`${at}lateWatchOffsetsMs may have at most ${LIMITS.watches} entries`);
  }
  if (!Number.isInteger(policy.maxAttempts) || policy.maxAttempts < 1 || policy.maxAttempts > MOST_ATTEMPTS) {
    problems.push(`${at}maxAttempts must be an integer from 1 to ${MOST_ATTEMPTS} (got ${policy.maxAttempts})`);
  }
  for (const [name, words] of Object.entries(POLICY_WORDS)) {
    const word = policy[name as keyof typeof POLICY_WORDS];
    if (!(words as readonly string[]).includes(word)) {
      problems.push(`${at}${name} must be one of ${words.join(', ')} (got ${String(word)})`);
    }
  }
  if (policy.reminderOffsetsMs.length > LIMITS.reminders) {
    problems.push(`${at}reminderOffsetsMs may have at most ${LIMITS.reminders} entries`);
  }
  const { minPaymentWindowMs: min, maxPaymentWindowMs: max, paymentWindowMs: window } = policy;
  if (window < min || window > max) {
    problems.push(`${at}paymentWindowMs must be between minPaymentWindowMs and maxPaymentWindowMs (got ${window})`);
  }
  return problems;
}

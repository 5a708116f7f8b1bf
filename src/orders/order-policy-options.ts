import { InvalidOptionsError } from '../errors';
import { LIMITS } from './limits';

/** How long buyers have, and what happens around the deadline. All in milliseconds. */
export interface OrderPolicy {
  /** From placing to the deadline. @default 1_800_000 (30 min) */
  readonly paymentWindowMs: number;
  /** From the deadline to the begin of closing; the buyer never sees it. @default 0 */
  readonly graceMs: number;
  /** Grace of single payment methods, by provider name, where it is longer. @default {} */
  readonly graceMsByProvider: Readonly<Record<string, number>>;
  /** `order.expiring` is sent so long before the deadline; empty for never. @default [300_000] (5 min) */
  readonly reminderOffsetsMs: readonly number[];
  /** Shortest window that an order may ask for. @default 0 */
  readonly minPaymentWindowMs: number;
  /** Longest window that an order may ask for, extensions included. @default 31_622_400_000 (366 days) */
  readonly maxPaymentWindowMs: number;
  /**
   * What becomes of money that arrives after the order was closed. `revive-if-stock`: the order becomes PAID if its
   * goods are still there, else the money goes back · `refund`: it goes back · `keep`: it waits for a person in
   * orphan_payment. Money for a cancelled order is never revived. @default 'revive-if-stock'
   */
  readonly latePayment: 'revive-if-stock' | 'refund' | 'keep';
  /** What becomes of a payment that the order did not need, as another one had paid it. @default 'refund' */
  readonly surplusPayment: 'refund' | 'keep';
  /**
   * What becomes at the deadline of an order that is paid in part, or in another currency. `refund-and-close`, or
   * `park`: it keeps its stock and waits for a person. @default 'refund-and-close'
   */
  readonly partialPayment: 'refund-and-close' | 'park';
  /**
   * So long after its end the providers of an order's closed attempts are asked once more, as notifications get lost
   * and a close can be answered too early; empty for never. @default [1 min, 10 min, 2 h, 25 h]: past every
   * provider's last repetition of a notification
   */
  readonly lateWatchOffsetsMs: readonly number[];
  /**
   * Payment attempts that one order may have, in whatever state: each is asked about at the deadline, and providers limit
   * how often they answer. @default 50
   */
  readonly maxAttempts: number;
  /**
   * What becomes of an attempt whose provider, or merchant account, is not configured in this process. `refuse`, or
   * `allow`: it is registered, and the order waits at its deadline until the provider is configured. @default 'refuse'
   */
  readonly unknownProviders: 'refuse' | 'allow';
}

/** What the module takes: every value has a default, and merchants may have their own. */
export interface OrderPolicyOptions extends Partial<OrderPolicy> {
  /** Policies of single merchants, by merchant id; what they leave out comes from the global values. */
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
  partialPayment: 'refund-and-close',
  lateWatchOffsetsMs: [MINUTE, 10 * MINUTE, 2 * HOUR, 25 * HOUR],
  maxAttempts: 50,
  unknownProviders: 'refuse',
};

/** The names of all policies. */
export const POLICIES: readonly string[] = Object.keys(DEFAULTS);

/** More could not be asked about in the 18 s of one round, even at 50 calls a second. */
const MOST_ATTEMPTS = 1_000;

/** The policies that are words. */
export const POLICY_WORDS = {
  latePayment: ['revive-if-stock', 'refund', 'keep'],
  surplusPayment: ['refund', 'keep'],
  partialPayment: ['refund-and-close', 'park'],
  unknownProviders: ['refuse', 'allow'],
} as const;

/** @throws InvalidOptionsError naming every bad value. */
export function resolvePolicy(base: Partial<OrderPolicy>, own: Partial<OrderPolicy> = {}): OrderPolicy {
  return Object.freeze({ ...DEFAULTS, ...base, ...own });
}

/** All problems of the options, merchants' included; throws when there are any. */
export function checkPolicyOptions({ merchants = {}, ...base }: OrderPolicyOptions): void {
  const problems = problemsOf(resolvePolicy(base), '');
  for (const [merchant, own] of Object.entries(merchants)) {
    if (!LIMITS.id.test(merchant))
      problems.push(`merchants.${merchant} is no merchant id: it must match ${LIMITS.id.source}`);
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
    if (!LIMITS.provider.test(name)) problems.push(`${at}graceMsByProvider.${name} is not a valid name of a provider`);
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
    problems.push(`${at}paymentWindowMs must lie between minPaymentWindowMs and maxPaymentWindowMs (got ${window})`);
  }
  return problems;
}

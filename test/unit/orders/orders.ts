import fc from 'fast-check';
import { type Money } from '../../../src/orders/model/money';
import { type AttemptFinding, type Finding } from '../../../src/orders/model/findings';
import { type LockedOrder, type PaymentAttempt } from '../../../src/orders/model/order';
import { type CloseOutcome, type QueryOutcome } from '../../../src/payments';

export const NOW = new Date('2026-01-01T12:00:00Z');
export const at = (offsetMs: number): Date => new Date(NOW.getTime() + offsetMs);

/** The data of a payment for the attempt that the other functions create. */
export function money(overrides: Partial<Money> = {}): Money {
  const names = { provider: 'fake', reference: 'a-1', merchantAccount: null, transactionId: null };
  return { ...names, amount: 100n, currency: 'EUR', paidAt: at(-5_000), source: 'provider', ...overrides };
}

/** A finding about an attempt that `attempt` creates. */
export const on = (finding: Finding, reference = 'a-1'): AttemptFinding => ({
  provider: 'fake',
  reference,
  merchantAccount: null,
  finding,
});
export const CLOSED = { type: 'CLOSED', evidence: { proof: 'closed' } } as const satisfies Finding;
export const UNKNOWN = { type: 'UNKNOWN', reason: 'down' } as const satisfies Finding;
export const IN_PROGRESS = { type: 'IN_PROGRESS', reason: 'paying' } as const satisfies Finding;

/** An order that became due a second ago. */
export function order(overrides: Partial<LockedOrder> = {}): LockedOrder {
  return {
    id: 'o-1',
    merchantId: 'default',
    status: 'PENDING',
    version: 1,
    amount: 100n,
    currency: 'EUR',
    expiresAt: at(-1_000),
    autoClose: true,
    graceMs: 0,
    reminderOffsetsMs: [],
    closingReason: null,
    createdAt: at(-60_000),
    closedAt: null,
    paidAt: null,
    attempts: [],
    ...overrides,
  };
}

export function attempt(overrides: Partial<PaymentAttempt> = {}): PaymentAttempt {
  return {
    orderId: 'o-1',
    provider: 'fake',
    reference: 'a-1',
    merchantAccount: null,
    resolvedAccount: null,
    status: 'OPEN',
    amount: 100n,
    currency: 'EUR',
    timeExpire: null,
    createdAt: at(-30_000),
    registered: true,
    assigned: false,
    paidAmount: null,
    refundedAmount: 0n,
    paidCurrency: null,
    paidAt: null,
    transactionId: null,
    paidSource: null,
    ...overrides,
  };
}

export function paid(overrides: Partial<PaymentAttempt> = {}): PaymentAttempt {
  const money = { paidAmount: 100n, paidCurrency: 'EUR', paidAt: at(-5_000), paidSource: 'provider' } as const;
  return attempt({ status: 'PAID', ...money, ...overrides });
}

export const PAID_OUTCOME = {
  type: 'PAID',
  amount: 100n,
  currency: 'EUR',
  paidAt: at(-5_000),
  transactionId: 't-1',
  evidence: {},
} as const;

/** What no provider says of real money, and what an adapter may pass on nevertheless. */
export const NO_MONEY: readonly [what: string, part: object][] = [
  ['zero', { amount: 0n }],
  ['a negative amount', { amount: -5n }],
  ['an amount that JSON cannot carry', { amount: 2n ** 53n }],
  ['an amount with a fraction', { amount: 1.5 }],
  ['an amount as text', { amount: '100' }],
  ['no amount', { amount: undefined }],
  ['a currency in lower case', { currency: 'eur' }],
  ['a currency of four letters', { currency: 'USDT' }],
  ['no currency', { currency: undefined }],
  ['no valid time', { paidAt: new Date(Number.NaN) }],
  ['an empty transaction id', { transactionId: '' }],
];

export const queryOutcomes: fc.Arbitrary<QueryOutcome> = fc.oneof(
  fc.constantFrom('OPEN', 'PROCESSING', 'AUTHORIZED', 'CLOSED', 'REFUNDED', 'NOT_FOUND').map((type) => ({ type })),
  fc.constant(PAID_OUTCOME),
  fc.constant<QueryOutcome>({ type: 'UNKNOWN', reason: 'down' }),
);

export const closeOutcomes: fc.Arbitrary<CloseOutcome> = fc
  .constantFrom('CLOSED', 'ALREADY_CLOSED', 'PAID', 'IN_PROGRESS', 'NOT_FOUND', 'UNKNOWN')
  .map((type) => (type === 'UNKNOWN' ? { type, reason: 'down' } : { type }) as CloseOutcome);

export const attempts: fc.Arbitrary<PaymentAttempt> = fc
  .record({
    status: fc.constantFrom('CREATED' as const, 'OPEN' as const, 'UNKNOWN' as const),
    ageMs: fc.integer({ min: 0, max: 20 * 60_000 }),
    expireMs: fc.option(fc.integer({ min: -10 * 60_000, max: 10 * 60_000 })),
  })
  .map(({ status, ageMs, expireMs }) =>
    attempt({ status, createdAt: at(-ageMs), timeExpire: expireMs === null ? null : at(expireMs) }),
  );

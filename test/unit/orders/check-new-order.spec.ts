import fc from 'fast-check';
import {
  checkNewAttempt,
  checkNewOrders,
  checkReportedPayment,
  checkRequest,
} from '../../../src/orders/input/check-input';
import { InvalidOrderError, LIMITS, type NewAttempt, type NewOrder } from '../../../src/orders';
import { newOrderSchema } from '../../../src/orders/input';
import { arbitraryOrder, toModuleOrder } from '../../support/arbitrary-order';

const good: NewOrder = { id: 'o-1', amount: 100, currency: 'EUR', lines: [{ sku: 'a', quantity: 1, unitAmount: 0 }] };
const attempt: NewAttempt = { provider: 'p', reference: 'r' };

function problemsOf(check: () => void): string {
  try {
    check();
  } catch (error) {
    if (error instanceof InvalidOrderError) return error.problems.join('; ');
    throw error;
  }
  return '';
}

describe('orders given to the module API', () => {
  it('are accepted if they are valid', () => {
    const full: NewOrder = {
      ...good,
      id: 'o-2',
      merchantId: undefined,
      amount: BigInt(LIMITS.money),
      expiresAt: new Date('2030-01-01'),
      graceMs: 0,
      reminderOffsetsMs: [60_000],
      lines: [],
      metadata: { placed: new Date(), note: undefined },
      attempt: { ...attempt, amount: 5n, timeExpire: new Date('2030-01-01') },
      idempotencyKey: 'key 1',
    };
    expect(problemsOf(() => checkNewOrders([good, full]))).toBe('');
  });

  it.each<[string, Partial<Record<keyof NewOrder, unknown>>, string]>([
    ['an amount with a fraction', { amount: 1.5 }, 'order "o-1": amount must be an integer or a bigint from 1 to 9007199254740991, in minor units such as cents (got 1.5)'], // prettier-ignore
    ['a negative amount', { amount: -1 }, 'amount must be'],
    ['an amount as text', { amount: '100' }, 'amount must be'],
    ['an amount that JSON cannot carry', { amount: 2n ** 60n }, '(got 1152921504606846976)'],
    ['an id with a blank', { id: 'a b' }, 'id must be 1 to 64 letters'],
    ['a merchant id that is too long', { merchantId: 'm'.repeat(99) }, 'merchantId must be 1 to 64 letters'],
    ['a currency in small letters', { currency: 'euro' }, 'currency must be an ISO 4217 code of three capital letters, e.g. "EUR" (got "euro")'], // prettier-ignore
    ['lines that are no array', { lines: null }, 'lines must be an array'],
    [
      'too many lines',
      { lines: Array(101).fill({ sku: 'a', quantity: 1, unitAmount: 1 }) },
      'lines must have at most 100 entries',
    ],
    ['a negative quantity', { lines: [{ sku: 'a', quantity: -2, unitAmount: 1 }] }, 'lines.0.quantity must be'],
    ['a sku with NUL', { lines: [{ sku: 'a\0', quantity: 1, unitAmount: 1 }] }, 'lines.0.sku must be text'],
    ['two deadlines', { paymentWindowMs: 1, expiresAt: new Date() }, 'give either expiresAt or paymentWindowMs'],
    ['a deadline that is not a date', { expiresAt: new Date(NaN) }, 'expiresAt must be a valid Date'],
    ['a deadline as text', { expiresAt: '2030-01-01T00:00:00Z' }, 'expiresAt must be a valid Date'],
    ['a window that is not a number', { paymentWindowMs: NaN }, 'paymentWindowMs must be an integer'],
    ['a grace beyond the column', { graceMs: 2 ** 31 }, 'graceMs must be an integer from 0 to 2147483647'],
    ['a reminder with a fraction', { reminderOffsetsMs: [0.5] }, 'reminderOffsetsMs.0 must be an integer'],
    ['eleven reminders', { reminderOffsetsMs: Array(11).fill(1) }, 'reminderOffsetsMs must have at most 10 entries'],
    ['metadata with a bigint', { metadata: { count: 1n } }, 'metadata must not contain a bigint'],
    ['metadata with NaN', { metadata: { count: NaN } }, 'metadata must not contain NaN'],
    ['metadata that becomes NUL', { metadata: { toJSON: () => ({ a: '\0' }) } }, 'metadata must not contain NUL'],
    ['an idempotency key in Greek', { idempotencyKey: 'α' }, 'idempotencyKey must be 1 to 255 printable ASCII'],
    ['an attempt without a reference', { attempt: { provider: 'p' } }, 'attempt.reference is missing'],
    [
      'an attempt without a provider',
      { attempt: { ...attempt, provider: '' } },
      'attempt.provider must be the name of a payment',
    ],
    ['a misspelled field', { paymentWindowMS: 1 } as object, 'paymentWindowMS is not a known field'],
  ])('are rejected for %s, with the reason', (_case, change, sentence) => {
    expect(problemsOf(() => checkNewOrders([good, { ...good, ...change } as NewOrder]))).toContain(sentence);
  });

  it('are rejected with the problems of every order, at most fifty', () => {
    const bad = { ...good, amount: 0, currency: '' };
    expect(() => checkNewOrders([bad, bad])).toThrow(/^ORDER_TIMEOUT\/INVALID_ORDER: (order "o-1": [^;]+; ){3}order/);
    expect(problemsOf(() => checkNewOrders(Array<NewOrder>(100).fill(bad))).split('; ')).toHaveLength(50);
    expect(problemsOf(() => checkNewOrders([null as unknown as NewOrder]))).toBe('order undefined: must be an object');
  });

  it('have the same limits as orders over HTTP and AMQP', () => {
    const tally = { good: 0, bad: 0 };
    fc.assert(
      fc.property(arbitraryOrder, (fields) => {
        const order = { id: 'o-1', ...fields };
        const isGood = newOrderSchema.safeParse(order).success;
        tally[isGood ? 'good' : 'bad'] += 1;
        expect(problemsOf(() => checkNewOrders([toModuleOrder(order) as unknown as NewOrder])) === '').toBe(isGood);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(tally.good, tally.bad)).toBeGreaterThan(200);
  });
});

describe('other input of the module API', () => {
  const payment = { orderId: 'o-1', provider: 'p', reference: 'r', amount: 1n, currency: 'EUR' };

  it('is accepted if it is valid', () => {
    expect(problemsOf(() => checkNewAttempt({ orderId: 'o-1', ...attempt, amount: 5n, timeExpire: new Date() }))).toBe(
      '',
    );
    expect(problemsOf(() => checkRequest('deadline', { orderId: 'o-1', byMs: -5 } as { orderId: string }))).toBe('');
    expect(problemsOf(() => checkReportedPayment({ ...payment, evidence: { any: 'thing' } } as typeof payment))).toBe(
      '',
    );
  });

  it.each<[object, string]>([
    [{ provider: 'p'.repeat(65) }, 'payment "r": provider must be text of 1 to 64 characters'],
    [{ reference: '' }, 'reference must be text of 1 to 255 characters'],
    [{ merchantAccount: 'm'.repeat(129) }, 'merchantAccount must be text of 1 to 128'],
    [{ transactionId: 't'.repeat(256) }, 'transactionId must be text of 1 to 255'],
    [{ amount: 0 }, 'amount must be an integer or a bigint from 1'],
    [{ currency: 'eur' }, 'currency must be an ISO 4217 code'],
    [{ paidAt: '2030-01-01' }, 'paidAt must be a valid Date'],
    [{ orderId: 'a b' }, 'orderId must be 1 to 64 letters'],
  ])('a payment with %j is rejected', (change, sentence) => {
    expect(problemsOf(() => checkReportedPayment({ ...payment, ...change }))).toContain(sentence);
  });

  it('a payment is not rejected for unusual characters, which an old attempt may contain', () => {
    const old = { ...payment, provider: 'my bank', reference: 'line\nbreak', paidAt: new Date(0) };
    expect(problemsOf(() => checkReportedPayment(old))).toBe('');
  });

  it('an attempt, a deadline, a cancellation, and a switch are rejected for invalid values', () => {
    expect(problemsOf(() => checkNewAttempt({ orderId: 'o-1', ...attempt, amount: 0 }))).toContain('attempt of order "o-1": amount must'); // prettier-ignore
    expect(problemsOf(() => checkRequest('deadline', { orderId: 'o-1' }))).toBe('order "o-1": expiresAt give exactly one of expiresAt and byMs'); // prettier-ignore
    const reason = { orderId: 'o-1', reason: 'x'.repeat(501) };
    expect(problemsOf(() => checkRequest('cancellation', reason))).toContain('reason must be text of 1 to 500');
    const enabled = { orderId: 'o-1', enabled: 'yes' };
    expect(problemsOf(() => checkRequest('autoClose', enabled))).toContain('enabled must be true or false (got "yes")');
  });
});

import { bookMoney } from '../../../src/orders/model/money';
import { decideAssignment } from '../../../src/orders/operator/assign-unmatched';
import { decideManualClose, declareClosed } from '../../../src/orders/close/end-order';
import { decideManualRefund, decideRevival } from '../../../src/orders/operator/refund-and-revive';
import { type UnmatchedPayment } from '../../../src/orders/unmatched/unmatched-payment';
import { ORDER_STATUSES, type PaymentAttempt } from '../../../src/orders/model/order';
import { attempt, money, NOW, order, paid } from './orders';

const A1 = { provider: 'fake', reference: 'a-1', merchantAccount: null, transactionId: null };

describe('a manual refund', () => {
  it.each(['CLOSED', 'CANCELLED', 'REFUNDING', 'CLOSED_REFUNDED'] as const)(
    'of an order that is %s may take every payment',
    (status) => {
      expect(decideManualRefund(order({ status, attempts: [paid()] }), A1).type).toBe('refund');
    },
  );

  it('of a paid order may take payments that it does not need, if confirmed money is left', () => {
    const needed = { type: 'refuse', refusal: { code: 'PAYMENT_NEEDED', status: 'PAID' } };
    const spare = paid({ reference: 'a-2' });
    expect(decideManualRefund(order({ status: 'PAID', attempts: [paid()] }), A1)).toEqual(needed);
    expect(decideManualRefund(order({ status: 'PAID', attempts: [paid(), spare] }), A1).type).toBe('refund');
    const reported = paid({ reference: 'a-2', paidSource: 'report' });
    expect(decideManualRefund(order({ status: 'PAID', attempts: [paid(), reported] }), A1)).toEqual(needed);
    const dollars = paid({ reference: 'a-2', paidCurrency: 'USD' });
    expect(decideManualRefund(order({ status: 'PAID', attempts: [paid(), dollars] }), A1)).toEqual(needed);
  });

  it('of a paid order may take money in another currency, even if only a report pays the order', () => {
    const dollars = paid({ paidCurrency: 'USD' });
    const reported = paid({ reference: 'a-2', paidSource: 'report' });
    expect(decideManualRefund(order({ status: 'PAID', attempts: [dollars, reported] }), A1).type).toBe('refund');
  });

  it.each(['PENDING', 'CLOSING'] as const)('of an order that is %s may take a partial payment', (status) => {
    const part = order({ status, attempts: [paid({ paidAmount: 60n })] });
    expect(decideManualRefund(part, A1).type).toBe('refund');
    const enough = order({ status, attempts: [paid()] });
    expect(decideManualRefund(enough, A1)).toMatchObject({ refusal: { code: 'PAYMENT_NEEDED' } });
  });

  it('needs the confirmation of the provider, and recognizes a payment by its other name', () => {
    const reported = order({ status: 'CLOSED', attempts: [paid({ paidSource: 'report' })] });
    expect(decideManualRefund(reported, A1)).toMatchObject({ refusal: { code: 'PAYMENT_NOT_CONFIRMED' } });
    const named = order({ status: 'CLOSED', attempts: [paid({ reference: 'session', transactionId: 'a-1' })] });
    expect(decideManualRefund(named, A1)).toMatchObject({ type: 'refund', attempt: { reference: 'session' } });
    const other = attempt({ reference: 'a-1', status: 'DUPLICATE', transactionId: 't-1' });
    const held = paid({ reference: 'intent', transactionId: 't-1' });
    const both = order({ status: 'CLOSED', attempts: [other, held] });
    expect(decideManualRefund(both, A1)).toMatchObject({ type: 'refund', attempt: { reference: 'intent' } });
  });

  it('is refused for a payment whose reference was erased, because its provider knows no other', () => {
    const erased = paid({ reference: 'erased:5f0c', transactionId: null });
    const names = { ...A1, reference: 'erased:5f0c' };
    const spare = order({ status: 'PAID', isErased: true, attempts: [erased, paid()] });
    expect(decideManualRefund(spare, names)).toEqual({ type: 'refuse', refusal: { code: 'PAYMENT_ERASED' } });
    expect(decideManualRefund(spare, A1).type).toBe('refund');
    const refunded = order({ status: 'CLOSED', attempts: [{ ...erased, status: 'REFUNDED' }] });
    expect(decideManualRefund(refunded, names).type).toBe('refunded');
  });

  it('reports an earlier refund of a payment, and rejects an unknown payment', () => {
    const of = (status: 'REFUNDING' | 'REFUNDED' | 'CLOSED' | 'DUPLICATE' | 'SETTLED') =>
      decideManualRefund(order({ status: 'CLOSED', attempts: [paid({ status })] }), A1);
    expect([of('REFUNDING').type, of('REFUNDED').type]).toEqual(['refunding', 'refunded']);
    expect(of('SETTLED')).toEqual({
      type: 'refuse',
      refusal: { code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' },
    });
    for (const status of ['CLOSED', 'DUPLICATE'] as const) {
      expect(of(status)).toEqual({ type: 'refuse', refusal: { code: 'PAYMENT_NOT_FOUND' } });
    }
  });
});

describe('a revival', () => {
  it.each(ORDER_STATUSES.filter((status) => status !== 'CLOSED' && status !== 'PAID'))('is not for %s', (status) => {
    const refusal = { code: 'ORDER_NOT_REVIVABLE', status };
    expect(decideRevival(order({ status, attempts: [paid()] }), [])).toEqual({ type: 'refuse', refusal });
  });

  it('needs enough money that no other order counts on, whichever source vouches for it', () => {
    const kept = paid({ paidSource: 'report', registered: false });
    const closed = order({ status: 'CLOSED', attempts: [kept] });
    expect(decideRevival(closed, [])).toEqual({ type: 'revive', attempts: [kept] });
    expect(decideRevival(closed, [kept])).toEqual({ type: 'refuse', refusal: { code: 'PAYMENT_TAKEN' } });
    for (const attempts of [[], [paid({ paidAmount: 99n })], [paid({ status: 'REFUNDING' })]]) {
      const decision = decideRevival(order({ status: 'CLOSED', attempts }), []);
      expect(decision).toEqual({ type: 'refuse', refusal: { code: 'PAYMENT_INSUFFICIENT' } });
    }
  });
});

describe('a revival of an order whose payment a person has settled', () => {
  const settled = paid({ reference: 'settled', status: 'SETTLED' });
  const refusal = { code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' };

  it('is refused, as that payment may have been given back', () => {
    expect(decideRevival(order({ status: 'CLOSED', attempts: [settled] }), [])).toEqual({
      type: 'refuse',
      refusal,
    });
  });

  it('counts on the other payments', () => {
    const other = paid({ reference: 'other' });
    const closed = order({ status: 'CLOSED', attempts: [settled, other] });
    expect(decideRevival(closed, [])).toEqual({ type: 'revive', attempts: [other] });
  });
});

describe('a manual close', () => {
  it('closes immediately if nothing can be paid; otherwise it looks up the attempts or trusts the declaration', () => {
    const open = attempt();
    const gone = attempt({ reference: 'a-2', status: 'CLOSED' });
    expect(decideManualClose(order({ attempts: [gone] }), false)).toMatchObject({ type: 'close', to: 'CLOSED' });
    expect(decideManualClose(order({ attempts: [gone, open] }), false)).toEqual({ type: 'look-up' });
    const declared = decideManualClose(order({ attempts: [gone, open] }), true);
    expect(declared).toEqual({ type: 'close', to: 'CLOSED', declared: [open] });
    const after = declareClosed(order({ attempts: [gone, open] }), [open]);
    expect(after.attempts).toEqual([gone, { ...open, status: 'CLOSED' }]);
  });

  it('ends a cancellation as CANCELLED', () => {
    const cancelling = order({ status: 'CLOSING', closingReason: 'cancelled' });
    expect(decideManualClose(cancelling, false)).toMatchObject({ to: 'CANCELLED' });
  });

  it.each([[paid()], [paid({ paidAmount: 1n, paidSource: 'report' })], [paid({ paidCurrency: 'USD' })]])(
    'is rejected while there is money',
    (payment) => {
      const decision = decideManualClose(order({ attempts: [payment, attempt({ reference: 'a-2' })] }), true);
      const payments = [{ provider: 'fake', reference: 'a-1' }];
      expect(decision).toEqual({ type: 'refuse', refusal: { code: 'ORDER_HAS_MONEY', payments } });
    },
  );

  it('is rejected while confirmed money that names the order waits for a person', () => {
    const payments = [{ provider: 'fake', reference: 'early' }];
    const refused = { type: 'refuse', refusal: { code: 'ORDER_HAS_MONEY', payments } };
    expect(decideManualClose(order({ attempts: [attempt()], waiting: payments }), true)).toEqual(refused);
  });

  it('is possible after an earlier refund', () => {
    expect(decideManualClose(order({ attempts: [paid({ status: 'REFUNDED' })] }), false).type).toBe('close');
  });
});

describe('an assignment', () => {
  const unmatched = (overrides: Partial<UnmatchedPayment> = {}): UnmatchedPayment => ({
    id: '00000000-0000-4000-8000-000000000001',
    reason: 'unknown-order',
    handling: 'kept',
    orderId: null,
    ...{ provider: 'fake', reference: 'a-1', merchantAccount: null, amount: 100, currency: 'EUR' },
    source: 'provider',
    evidence: {},
    createdAt: NOW,
    resolvedAt: null,
    resolvedBy: null,
    resolution: null,
    ...overrides,
  });
  const decide = (overrides: Partial<UnmatchedPayment> = {}, attempts = [attempt({ reference: 'a-0' })]) =>
    decideAssignment(order({ attempts }), unmatched(overrides), money({ isAssigned: true }), {
      attempts,
      unowned: [],
      handled: [],
    });

  it('is for money that waits and has no order', () => {
    expect(decide()).toEqual({ type: 'assign' });
    expect(decide({ reason: 'attempt-mismatch', handling: 'waiting' })).toEqual({ type: 'assign' });
    expect(decide({ reason: 'surplus' })).toMatchObject({ refusal: { code: 'UNMATCHED_PAYMENT_HAS_ORDER' } });
    expect(decide({ handling: 'settled' })).toMatchObject({ refusal: { code: 'UNMATCHED_PAYMENT_HANDLED' } });
    expect(decide({ handling: 'adopted' })).toMatchObject({ refusal: { code: 'UNMATCHED_PAYMENT_HANDLED' } });
  });

  it('registers a payment that the order adopted automatically, and is idempotent', () => {
    expect(decide({ handling: 'adopted' }, [paid({ registered: false })])).toEqual({ type: 'assign' });
    expect(decide({ handling: 'adopted' }, [paid()])).toEqual({ type: 'already-assigned' });
  });

  it('is rejected for a payment of another order', () => {
    const elsewhere = (changes: Partial<PaymentAttempt>, told = money()) =>
      decideAssignment(order(), unmatched(), told, {
        attempts: [attempt({ orderId: 'o-2', ...changes })],
        unowned: [],
        handled: [],
      });
    const refused = { type: 'refuse', refusal: { code: 'PAYMENT_TAKEN' } };
    expect(elsewhere({ status: 'PAID', paidSource: 'provider' })).toEqual(refused);
    expect(elsewhere({ status: 'DUPLICATE' })).toEqual(refused);
    // What only a report states may be wrong, so the attempt may still be paid for its order.
    expect(elsewhere({}, money({ source: 'report' }))).toEqual(refused);
    for (const status of ['CREATED', 'OPEN', 'UNKNOWN', 'CLOSED'] as const)
      expect(elsewhere({ status })).toEqual({ type: 'assign' });
  });

  it('ends neither a settlement nor what became of the payment before', () => {
    const settled = { type: 'refuse', refusal: { code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' } };
    expect(decide({}, [paid({ status: 'SETTLED' })])).toEqual(settled);
    expect(decide({}, [paid({ reference: 'another', status: 'SETTLED' })])).toEqual({ type: 'assign' });
    const after = (fate: 'settled' | 'booked', attempts: PaymentAttempt[] = []) => {
      const trace = {
        provider: 'fake',
        reference: 'a-1',
        merchantAccount: null,
        orderId: null,
        payment: 'p-1',
        refunded: null,
        isOther: false,
        isUncertain: false,
      };
      const handled = [{ ...trace, fate, source: 'provider', amount: 100n, currency: 'EUR' } as const];
      return decideAssignment(order({ attempts }), unmatched(), money(), { attempts, unowned: [], handled });
    };
    expect(after('settled')).toEqual(settled);
    expect(after('booked')).toEqual({ type: 'refuse', refusal: { code: 'PAYMENT_TAKEN' } });
    // It is this order's, so it was booked here.
    expect(after('booked', [paid()])).toEqual({ type: 'assign' });
  });

  it.each([
    [{ amount: 1 }, true],
    [{ amount: 0 }, false],
    [{ amount: Number.MAX_SAFE_INTEGER }, true],
    [{ amount: Number.MAX_SAFE_INTEGER + 1 }, false],
    [{ currency: 'USD' }, false],
  ])('of %j is possible: %s', (part, isPossible) => {
    const refusal = { code: 'PAYMENT_NOT_BOOKABLE', amount: 100, currency: 'EUR', orderCurrency: 'EUR', ...part };
    expect(decide(part)).toEqual(isPossible ? { type: 'assign' } : { type: 'refuse', refusal });
  });

  it('does not change what the order has of this payment from a source as good', () => {
    const refusal = { code: 'PAYMENT_DISPUTED', paidAmount: 40, paidCurrency: 'EUR' };
    expect(decide({}, [paid({ paidAmount: 40n })])).toEqual({ type: 'refuse', refusal });
  });

  it('books a payment as registered, even one that the order has already', () => {
    expect(bookMoney(order(), money()).holder.registered).toBe(false);
    expect(bookMoney(order(), money({ isAssigned: true })).holder).toMatchObject({ registered: true, status: 'PAID' });
    const held = order({ attempts: [paid({ registered: false })] });
    expect(bookMoney(held, money({ isAssigned: true }))).toMatchObject({
      wasBooked: true,
      changed: [{ registered: true, status: 'PAID', paidSource: 'provider' }],
    });
    expect(bookMoney(held, money()).changed).toEqual([]);
  });
});

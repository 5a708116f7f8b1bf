import { type HandledPayment } from '../../../src/orders/model/decide-claim';
import { refundedOf } from '../../../src/orders/pay/handle-notification';
import { isHandled, isSettledBefore, wasElsewhere, wasRefunded } from '../../../src/orders/sql/handled-payments';
import { money } from './orders';

describe('a payment that a person has settled before an order registered its reference', () => {
  const settled = (amount: bigint): HandledPayment[] => [
    {
      ...{ provider: 'fake', reference: 'a-1', merchantAccount: null, fate: 'settled', orderId: null },
      ...{ source: 'provider', amount, currency: amount === 0n ? 'XXX' : 'EUR', refunded: null, isOther: false },
      payment: 'p-1',
      isUncertain: false,
    },
  ];

  it('counts as settled, whoever tells of it', () => {
    for (const source of ['provider', 'report'] as const)
      expect(isHandled(settled(100n), money({ source }))).toBe(true);
    expect(isSettledBefore(settled(100n), money())).toBe(true);
  });

  it('counts once its provider confirms it, if that had stated no valid amount, and a person is told', () => {
    expect([isHandled(settled(0n), money()), isSettledBefore(settled(0n), money())]).toEqual([false, false]);
    expect(wasElsewhere(settled(0n), money())).toBe(true);
    expect(isHandled(settled(0n), money({ source: 'report' }))).toBe(true);
  });
});

describe('a payment that an order had refunded before it was purged', () => {
  const refunded = (isOther: boolean): HandledPayment => ({
    ...{ provider: 'fake', reference: 'a-1', merchantAccount: null, fate: 'refunded', orderId: 'o-1', isOther },
    ...{ source: 'provider', amount: 100n, currency: 'EUR', refunded: 100n, payment: 'p-1', isUncertain: false },
  });

  it('is known as that, whatever amount is told, unless the provider tells of another one under its reference', () => {
    expect(wasRefunded([refunded(false)], money({ amount: 5n }))).toBe(true);
    expect(wasRefunded([refunded(true)], money())).toBe(false);
    expect(wasRefunded([refunded(true)], money({ source: 'report' }))).toBe(true);
    expect(wasRefunded([{ ...refunded(false), fate: 'booked' }], money())).toBe(false);
  });
});

describe('what was refunded of the payments under one name', () => {
  const gone = {
    provider: 'fake',
    reference: 'a-1',
    merchantAccount: null,
    orderId: 'o-1',
    source: 'provider',
  } as const;
  const one = (
    fate: 'booked' | 'refunded',
    amount: bigint,
    refunded: bigint | null,
    payment = `p-${amount}`,
  ): HandledPayment => ({
    ...{ ...gone, fate, amount, currency: 'EUR', refunded, isOther: false, payment, isUncertain: false },
  });

  it('is the sum of their refunds', () => {
    const both = [one('refunded', 100n, 100n), one('refunded', 50n, 50n), one('booked', 30n, null)];
    expect(refundedOf(both)).toEqual({ orderId: 'o-1', amount: 150n, currency: 'EUR' });
  });

  it('is counted once if one payment is found in several ways', () => {
    const both = [one('refunded', 100n, 100n), one('refunded', 100n, 100n), one('refunded', 100n, 100n, 'p-other')];
    expect(refundedOf(both)).toEqual({ orderId: 'o-1', amount: 200n, currency: 'EUR' });
  });

  it('is what was refunded under another name, if only a report had given them this one', () => {
    const both = [one('booked', 100n, 40n), one('booked', 50n, null)];
    expect(refundedOf(both)).toEqual({ orderId: 'o-1', amount: 40n, currency: 'EUR' });
    expect(refundedOf([one('booked', 100n, null)])).toBeUndefined();
  });
});

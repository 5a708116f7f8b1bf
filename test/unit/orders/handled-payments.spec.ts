import { type HandledPayment } from '../../../src/orders/model/decide-claim';
import { isHandled, isSettledBefore, wasElsewhere } from '../../../src/orders/sql/handled-payments';
import { money } from './orders';

describe('a payment that a person has settled before an order registered its reference', () => {
  const settled = (amount: bigint): HandledPayment[] => [
    {
      ...{ provider: 'fake', reference: 'a-1', merchantAccount: null, fate: 'settled', orderId: null },
      ...{ source: 'provider', amount, currency: amount === 0n ? 'XXX' : 'EUR', isOther: false },
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

import { type Money } from '../../../src/orders/model/money';
import {
  ADOPTION_MS,
  decideClaim,
  mayBeFor,
  mayReassign,
  namesAsTold,
  neededPayments,
  type UnownedMoney,
  type WaitingMoney,
} from '../../../src/orders/model/decide-claim';
import { type PaymentAttempt } from '../../../src/orders/model/order';
import { at, attempt, money, order, paid } from './orders';

/** Of another order. */
const elsewhere = (overrides: Partial<PaymentAttempt> = {}) => paid({ orderId: 'o-2', ...overrides });
const reportedElsewhere = elsewhere({ reference: 'pi_1', paidSource: 'report', registered: false });
const registered = order({ attempts: [attempt()] });

const claim = (
  told: Partial<Money>,
  others: readonly PaymentAttempt[],
  { subject = order(), unowned = [] as readonly UnownedMoney[], wasBooked = false } = {},
) => decideClaim(subject, money(told), { attempts: others, unowned }, wasBooked);

describe('a payment that other orders have', () => {
  it('is for whoever names it, if no other order has it', () => {
    expect(claim({}, [])).toBe('taken');
    expect(claim({ source: 'report' }, [])).toBe('taken');
    expect(claim({ source: 'report' }, [paid({ orderId: 'o-1' })])).toBe('taken');
  });

  it('is refused to a report, even if the other order has only registered it', () => {
    expect(claim({ source: 'report' }, [elsewhere()])).toBe('refused');
    expect(claim({ source: 'report' }, [attempt({ orderId: 'o-2' })])).toBe('refused');
    // An attempt of the other order that the report names as transaction id.
    const named = attempt({ orderId: 'o-2', reference: 'pi_1' });
    expect(claim({ source: 'report', transactionId: 'pi_1' }, [named])).toBe('refused');
    expect(claim({ source: 'provider', transactionId: 'pi_1' }, [named])).toBe('taken');
  });

  it('stays where it was booked before', () => {
    expect(claim({ source: 'report' }, [elsewhere()], { wasBooked: true })).toBe('taken');
    expect(claim({}, [elsewhere()], { wasBooked: true })).toBe('disputed');
  });

  it('is refused to a report if the provider has told it of an attempt of another order', () => {
    const told = { reference: 't-2', transactionId: 't-2' };
    const row = { ...told, id: 'u-1', provider: 'fake', merchantAccount: null, amount: 100n, currency: 'EUR' };
    const unowned = (orderIds?: string[]) => [
      {
        ...row,
        source: 'provider',
        evidence: { reference: 'a-1' },
        createdAt: at(0),
        ...(orderIds && { orderIds }),
      } as const,
    ];
    expect(claim({ ...told, source: 'report' }, [], { unowned: unowned(['o-2']) })).toBe('refused');
    expect(claim({ ...told, source: 'report', isAssigned: true }, [], { unowned: unowned(['o-2']) })).toBe('refused');
    for (const orderIds of [undefined, ['o-1']])
      expect(claim({ ...told, source: 'report' }, [], { unowned: unowned(orderIds) })).toBe('taken');
    expect(claim(told, [], { unowned: unowned(['o-2']) })).toBe('taken');
    expect(unowned().map(namesAsTold)).toMatchObject([{ reference: 'a-1', transactionId: 't-2' }]);
    expect([{ ...unowned()[0], reference: 'b' }].map((one) => namesAsTold(one as UnownedMoney).reference)).toEqual([
      'b',
    ]);
  });

  it('goes to the order that registered it, if the provider confirms it and the others only have a report', () => {
    const told = { transactionId: 'pi_1' };
    expect(claim(told, [reportedElsewhere], { subject: registered })).toBe('outranks');
    expect(claim(told, [reportedElsewhere], { subject: order() })).toBe('refused');
    expect(claim({ ...told, source: 'report' }, [reportedElsewhere], { subject: registered })).toBe('refused');
    const confirmed = elsewhere({ reference: 'pi_1' });
    expect(claim(told, [confirmed], { subject: registered })).toBe('refused');
    expect(claim(told, [reportedElsewhere, confirmed], { subject: registered })).toBe('refused');
  });

  it('counts as registered if it is the second one under a registered reference, unless a report has its row', () => {
    const told = { reference: 't-2', transactionId: 't-2', secondOf: 'a-1' };
    const named = elsewhere({ reference: 'mine', transactionId: 't-2', paidSource: 'report' });
    expect(claim(told, [named], { subject: registered })).toBe('outranks');
    expect(claim({ ...told, secondOf: 'a-2' }, [named], { subject: registered })).toBe('refused');
    const booked = elsewhere({ reference: 't-2', paidSource: 'report', registered: false });
    expect(claim(told, [booked], { subject: registered })).toBe('refused');
  });

  it('is refused if it is another one under a reference that only an assignment or a report has given to the order', () => {
    const told = { reference: 't-2', transactionId: 't-2', secondOf: 'a-1' };
    const first = paid({ transactionId: 't-1' });
    expect(claim(told, [], { subject: order({ attempts: [first] }) })).toBe('taken');
    for (const how of [{ registered: false }, { assigned: true }]) {
      const subject = order({ attempts: [{ ...first, ...how }] });
      expect(claim(told, [], { subject })).toBe('refused');
      expect(claim(told, [], { subject, wasBooked: true })).toBe('taken');
      expect(claim({ ...told, isAssigned: true }, [], { subject })).toBe('taken');
    }
  });

  it('counts as registered under its other name only if the order holds it under that name', () => {
    const told = { reference: 'ch_1', transactionId: 'a-1' };
    const others = [elsewhere({ reference: 'ch_1', paidSource: 'report', registered: false })];
    expect(claim(told, others, { subject: order({ attempts: [paid()] }) })).toBe('outranks');
    expect(claim(told, others, { subject: order({ attempts: [attempt()] }) })).toBe('refused');
    expect(claim(told, others, { subject: order({ attempts: [paid({ registered: false })] }) })).toBe('refused');
  });

  it('goes to the order that a person assigns it to, unless the other order has it for certain', () => {
    const assigned = { isAssigned: true, transactionId: 'pi_1' };
    expect(claim(assigned, [reportedElsewhere])).toBe('outranks');
    expect(claim(assigned, [elsewhere({ reference: 'pi_1' })])).toBe('refused');
    expect(claim(assigned, [reportedElsewhere, elsewhere({ reference: 'pi_1' })])).toBe('refused');
  });
});

describe('money that nobody owned', () => {
  const createdAt = order().createdAt.getTime();
  const row = { id: '1', ...money(), evidence: {} };
  const before = (ms: number): UnownedMoney[] => [{ ...row, createdAt: new Date(createdAt - ms) }];

  it('is for an order that was placed up to a quarter of an hour later', () => {
    expect(claim({}, [], { unowned: before(ADOPTION_MS) })).toBe('taken');
    expect(claim({}, [], { unowned: before(ADOPTION_MS + 1) })).toBe('refused');
    expect(claim({}, [], { unowned: [...before(0), ...before(ADOPTION_MS + 1)] })).toBe('refused');
  });

  it('is for an order that has it already, and for the one that a person assigns it to', () => {
    const unowned = before(ADOPTION_MS + 1);
    expect(claim({}, [], { unowned, wasBooked: true })).toBe('taken');
    expect(claim({ isAssigned: true }, [], { unowned })).toBe('taken');
  });
});

describe('confirmed money that waits for a person', () => {
  const key = { provider: 'fake', reference: 'early', merchantAccount: 'main', transactionId: 't-1' };
  const isFor = (attempts: PaymentAttempt[], waiting: Partial<WaitingMoney> = {}): boolean =>
    mayBeFor({ id: 'o-1', attempts }, { ...key, orderId: 'o-1', attempt: 'a-1', ...waiting });

  it('may be for the order that it names, or whose attempt it was paid under', () => {
    expect([isFor([], { attempt: null }), isFor([attempt()])]).toEqual([true, true]);
    expect([isFor([], { attempt: null, orderId: 'o-2' }), isFor([])]).toEqual([false, false]);
  });

  it('is not for an order that has another payment under the reference only because a person has assigned it', () => {
    const first = paid({ transactionId: 't-0' });
    expect([isFor([first]), isFor([{ ...first, assigned: true }])]).toEqual([true, false]);
  });

  it('is not for an order whose attempt is at another merchant account', () => {
    expect(isFor([attempt({ merchantAccount: 'other' })])).toBe(false);
  });

  it.each(['SETTLED', 'REFUNDING', 'REFUNDED'] as const)('is not for an order that had it: %s', (status) => {
    const gone = paid({ reference: 'early', status, transactionId: 't-1' });
    expect(isFor([gone], { attempt: 'early' })).toBe(false);
    expect(isFor([{ ...gone, transactionId: 't-2' }], { attempt: 'early' })).toBe(true);
    expect(isFor([{ ...gone, status: 'PAID' }], { attempt: 'early' })).toBe(true);
  });
});

describe('a person', () => {
  const reported = elsewhere({ reference: 'pi_1', paidSource: 'report' });
  const claimed = elsewhere({ reference: 'pi_1', registered: false });

  it('may take from another order what only a report links to it', () => {
    expect(mayReassign(reported, money())).toBe(true);
    expect(mayReassign(claimed, money())).toBe(true);
    expect(mayReassign(elsewhere({ reference: 'pi_1' }), money())).toBe(false);
    expect(mayReassign(attempt({ orderId: 'o-2', reference: 'pi_1' }), money())).toBe(false);
  });

  it('may not take what the provider confirms by a report, nor the attempt of another order', () => {
    expect(mayReassign(reported, money({ source: 'report' }))).toBe(true);
    expect(mayReassign(claimed, money({ source: 'report' }))).toBe(false);
    expect(mayReassign(elsewhere({ paidSource: 'report' }), money())).toBe(false);
  });
});

describe('the payments that an order needs', () => {
  const [first, second] = [paid(), paid({ reference: 'a-2', paidAt: at(-1_000) })];
  const all = [attempt({ reference: 'a-0' }), second, first, paid({ reference: 'a-3', status: 'REFUNDED' })];

  it('are those that pay it, or will with others', () => {
    expect(neededPayments(order({ status: 'PAID', attempts: all }))).toEqual([first]);
    expect(neededPayments(order({ status: 'CLOSING', attempts: all }))).toEqual([first]);
    const part = paid({ paidAmount: 60n });
    expect(neededPayments(order({ attempts: [part, attempt({ reference: 'a-2' })] }))).toEqual([part]);
  });

  it.each(['CLOSED', 'CANCELLED', 'REFUNDING', 'CLOSED_REFUNDED'] as const)('are none once it is %s', (status) => {
    expect(neededPayments(order({ status, attempts: all }))).toEqual([]);
  });
});

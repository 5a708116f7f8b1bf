import fc from 'fast-check';
import { bookMoney } from '../../../src/orders/model/money';
import { type PaymentAttempt } from '../../../src/orders/model/order';
import { attempt, money, order, paid } from './orders';

const SESSION = attempt({ reference: 'cs_1' });
const REPORTED = paid({ reference: 'pi_1', paidSource: 'report', registered: false });
const statuses = (attempts: readonly PaymentAttempt[]) =>
  attempts.map(({ reference, status, paidAmount }) => `${reference} ${status} ${paidAmount ?? '-'}`);

describe('booking a payment', () => {
  it('replaces a report by the statement of the provider', () => {
    const before = order({ attempts: [paid({ paidAmount: 99n, paidSource: 'report' })] });
    const { after, wasBooked, isDisputed } = bookMoney(before, money());
    expect(after.attempts).toMatchObject([{ paidAmount: 100n, paidSource: 'provider' }]);
    expect([wasBooked, isDisputed]).toEqual([true, false]);
  });

  it('never replaces the statement of the provider by a report, and returns the difference', () => {
    const before = order({ attempts: [paid()] });
    const { after, changed, isDisputed } = bookMoney(before, money({ source: 'report', amount: 99n }));
    expect(after).toEqual(before);
    expect([changed, isDisputed]).toEqual([[], true]);
  });

  it('recognizes a payment by the name that the provider gives it', () => {
    const before = order({ attempts: [SESSION, REPORTED] });
    const told = money({ reference: 'cs_1', transactionId: 'pi_1' });
    const { after, holder, wasBooked } = bookMoney(before, told);
    expect(statuses(after.attempts)).toEqual(['cs_1 PAID 100', 'pi_1 DUPLICATE -']);
    expect(holder).toMatchObject({ reference: 'cs_1', paidSource: 'provider', registered: true });
    expect(wasBooked).toBe(true);
  });

  it('recognizes a payment by the name that a report gives it, and keeps its attempt under watch', () => {
    const before = order({ attempts: [paid({ reference: 'cs_1', transactionId: 'pi_1' })] });
    expect(bookMoney(before, money({ reference: 'pi_1', source: 'report' }))).toMatchObject({
      changed: [],
      wasBooked: true,
      isDisputed: false,
    });
    const claimed = money({ reference: 'cs_1', transactionId: 'pi_1', source: 'report' });
    const { after } = bookMoney(order({ attempts: [SESSION, REPORTED] }), claimed);
    expect(statuses(after.attempts)).toEqual(['cs_1 OPEN -', 'pi_1 PAID 100']);
  });

  it('distinguishes equal references of two merchants', () => {
    const before = order({ attempts: [attempt({ merchantAccount: 'a' })] });
    const { after } = bookMoney(before, money({ merchantAccount: 'b' }));
    expect(after.attempts).toMatchObject([
      { merchantAccount: 'a', status: 'OPEN' },
      { merchantAccount: 'b', status: 'PAID', registered: false },
    ]);
  });

  it('gives a report back what it had confused: its attempt is open again, or closed if the order has ended', () => {
    const confused = paid({ reference: 'a-2', paidSource: 'report', transactionId: 't-1' });
    const told = money({ transactionId: 't-1' });
    const before = order({ attempts: [attempt(), confused] });
    const booking = bookMoney(before, told);
    expect(statuses(booking.after.attempts)).toEqual(['a-1 PAID 100', 'a-2 OPEN -']);
    expect(booking.released).toMatchObject([
      { reference: 'a-2', status: 'OPEN', transactionId: null, paidSource: null },
    ]);
    const ended = bookMoney({ ...before, status: 'CLOSED' }, told);
    expect(ended.released).toMatchObject([{ reference: 'a-2', status: 'CLOSED' }]);
  });

  it('ends the second name of a payment for good, because it takes no money of its own', () => {
    const told = money({ transactionId: 'a-2' });
    for (const second of [paid({ reference: 'a-2', paidSource: 'report' }), paid({ reference: 'a-2' })]) {
      const { after, released } = bookMoney(order({ attempts: [paid({ transactionId: 'a-2' }), second] }), told);
      expect(statuses(after.attempts)).toEqual(['a-1 PAID 100', 'a-2 DUPLICATE -']);
      expect(released).toEqual([]);
    }
    const twice = [paid({ transactionId: 't-1' }), paid({ reference: 'a-2', transactionId: 't-1' })];
    const { after: once } = bookMoney(order({ attempts: twice }), money({ transactionId: 't-1' }));
    expect(statuses(once.attempts)).toEqual(['a-1 PAID 100', 'a-2 DUPLICATE -']);
    const idsOf = (attempts: readonly PaymentAttempt[]) => attempts.map(({ transactionId }) => transactionId);
    expect(idsOf(once.attempts)).toEqual(['t-1', 't-1']);
    const open = bookMoney(order({ attempts: [attempt(), paid({ reference: 'a-2', paidSource: 'report' })] }), told);
    expect(idsOf(open.after.attempts)).toEqual(['a-2', null]);
    expect(statuses(open.after.attempts)).toEqual(['a-1 PAID 100', 'a-2 DUPLICATE -']);
  });

  it('takes a report under the second name of a payment for that payment, whatever id the report has', () => {
    const second = attempt({ reference: 'cs_1', status: 'DUPLICATE', transactionId: 'pi_1' });
    const before = order({ attempts: [second, paid({ reference: 'pi_1', transactionId: 'pi_1' })] });
    for (const transactionId of [null, 'of-the-shop']) {
      const told = money({ reference: 'cs_1', transactionId, source: 'report' });
      expect(bookMoney(before, told)).toMatchObject({ changed: [], wasBooked: true, isDisputed: false });
    }
    const { after } = bookMoney(before, money({ reference: 'cs_1', transactionId: 'pi_2' }));
    expect(statuses(after.attempts)).toEqual(['cs_1 PAID 100', 'pi_1 PAID 100']);
  });

  it('leaves a payment where the provider has confirmed it, if it is told of again under a registered name', () => {
    const told = money({ reference: 'a-2', transactionId: 't-1' });
    const with2 = (first: PaymentAttempt) =>
      statuses(bookMoney(order({ attempts: [first, attempt({ reference: 'a-2' })] }), told).after.attempts);
    expect(with2(paid({ transactionId: 't-1' }))).toEqual(['a-1 PAID 100', 'a-2 DUPLICATE -']);
    // Nothing but the payment's own name links this one to the order.
    expect(with2(paid({ transactionId: 't-1', registered: false }))).toEqual(['a-1 DUPLICATE -', 'a-2 PAID 100']);
  });

  it('leaves a payment that a person has settled where it is, whatever names it', () => {
    const settled = paid({ status: 'SETTLED', paidSource: 'report', registered: false, transactionId: 't-1' });
    const before = order({ attempts: [settled, attempt({ reference: 'a-2' })] });
    const { holder, after } = bookMoney(before, money({ reference: 'a-2', transactionId: 't-1' }));
    expect(holder).toMatchObject({ reference: 'a-1', status: 'SETTLED' });
    expect(after.attempts.filter(({ status }) => status === 'PAID')).toEqual([]);
  });

  it('is no second payment because a person has settled a report that called its reference a transaction', () => {
    const settled = paid({ status: 'SETTLED', paidSource: 'report', registered: false, transactionId: 'a-2' });
    const before = order({ attempts: [settled, attempt({ reference: 'a-2' })] });
    const first = bookMoney(before, money({ reference: 'a-2', transactionId: 't-1' }));
    expect(first.holder).toMatchObject({ reference: 'a-2', status: 'SETTLED', transactionId: 't-1' });
    const second = bookMoney(first.after, money({ reference: 'a-2', transactionId: 't-2' }));
    expect(second).toMatchObject({ wasBooked: false, holder: { reference: 't-2', status: 'PAID', paidAmount: 100n } });
  });

  it('settles the attempt that the provider names, too, if a person has settled a report that named another one', () => {
    const confused = paid({ status: 'SETTLED', reference: 'a-2', paidSource: 'report', transactionId: 't-1' });
    for (const named of [attempt(), paid({ paidSource: 'report', transactionId: 't-1' })]) {
      const before = order({ attempts: [named, confused] });
      const { holder, released, after } = bookMoney(before, money({ transactionId: 't-1' }));
      expect(holder).toMatchObject({ reference: 'a-1', status: 'SETTLED', paidSource: 'provider' });
      // It is still looked up.
      expect(after.attempts[1]).toMatchObject({
        reference: 'a-2',
        status: 'SETTLED',
        paidSource: 'report',
        transactionId: null,
      });
      expect(released).toEqual([]);
    }
    const byName = bookMoney(
      order({ attempts: [attempt(), { ...confused, transactionId: null }] }),
      money({ transactionId: 'a-2' }),
    );
    expect(statuses(byName.after.attempts)).toEqual(['a-1 DUPLICATE -', 'a-2 SETTLED 100']);
  });

  it('takes one of two merchants for a payment without an account, and leaves the attempt of the other open', () => {
    const attempts = [attempt({ merchantAccount: 'm-1' }), attempt({ merchantAccount: 'm-2' })];
    const { after } = bookMoney(order({ attempts }), money());
    expect(after.attempts.map(({ status }) => status)).toEqual(['PAID', 'OPEN']);
  });

  it('ends the row without an account if the same attempt was registered with it, too', () => {
    const attempts = [attempt(), attempt({ merchantAccount: 'm-1' })];
    const { after } = bookMoney(order({ attempts }), money({ merchantAccount: 'm-1' }));
    expect(after.attempts.map(({ status }) => status)).toEqual(['DUPLICATE', 'PAID']);
  });

  it('learns the account of an attempt from its provider, and from nobody else', () => {
    const told = (source: 'provider' | 'report', known: PaymentAttempt) =>
      bookMoney(order({ attempts: [known] }), money({ source, merchantAccount: 'm-1' })).holder;
    expect(told('provider', attempt())).toMatchObject({ merchantAccount: null, resolvedAccount: 'm-1' });
    expect(told('report', attempt())).toMatchObject({ merchantAccount: null, resolvedAccount: null });
    const known = attempt({ merchantAccount: 'm-1' });
    expect(told('provider', known)).toMatchObject({ merchantAccount: 'm-1', resolvedAccount: null });
  });

  it('keeps the first of two reports that differ, in amount or in currency, and calls that a dispute', () => {
    const reported = paid({ paidSource: 'report' });
    for (const other of [{ amount: 99n }, { currency: 'USD' }]) {
      const booking = bookMoney(order({ attempts: [reported] }), money({ source: 'report', ...other }));
      expect(booking).toMatchObject({ changed: [], isDisputed: true, wasBooked: true, isNew: false });
      expect(booking.after.attempts).toEqual([reported]);
    }
  });

  it('tells what a person has assigned from what the order has registered', () => {
    const told = money({ isAssigned: true });
    const reported = paid({ paidSource: 'report', registered: false });
    for (const attempts of [[], [reported]])
      expect(bookMoney(order({ attempts }), told).holder).toMatchObject({ registered: true, assigned: true });
    expect(bookMoney(order({ attempts: [attempt()] }), told).holder).toMatchObject({
      registered: true,
      assigned: false,
    });
  });

  it('needs a new row only for an attempt that was not registered', () => {
    expect(bookMoney(order(), money()).isNew).toBe(true);
    expect(bookMoney(order({ attempts: [attempt()] }), money()).isNew).toBe(false);
  });

  it('books each payment under one reference once, in any order and however often the provider tells of them', () => {
    const payments = [
      { transactionId: 't-1', amount: 100n },
      { transactionId: 't-2', amount: 40n },
      { transactionId: 't-3', amount: 40n },
    ];
    const told = fc.record({
      payment: fc.constantFrom(...payments),
      isReport: fc.boolean(),
      merchantAccount: fc.constantFrom(null, 'm-1'),
    });
    // Registered before its account was known, with it, or both.
    const registrations = fc.constantFrom([null], ['m-1'], [null, 'm-1'], ['m-1', null]);
    fc.assert(
      fc.property(registrations, fc.array(told, { minLength: 1, maxLength: 12 }), (accounts, news) => {
        const end = news.reduce(
          (before, { payment, isReport, merchantAccount }) => {
            // The shop has ids of its own.
            const own = isReport ? { source: 'report' as const, transactionId: `shop-${payment.transactionId}` } : {};
            return bookMoney(before, money({ ...payment, merchantAccount, ...own })).after;
          },
          order({ attempts: accounts.map((merchantAccount) => attempt({ merchantAccount })) }),
        );
        const confirmed = end.attempts.filter(({ paidSource }) => paidSource === 'provider');
        const expected = new Set(news.filter(({ isReport }) => !isReport).map(({ payment }) => payment));
        expect(confirmed.map(({ transactionId, paidAmount }) => `${transactionId} ${paidAmount}`).sort()).toEqual(
          [...expected].map(({ transactionId, amount }) => `${transactionId} ${amount}`).sort(),
        );
        // All but one for each registration are of no registered attempt, so nobody refunds them without a person.
        expect(end.attempts.filter(({ registered }) => registered)).toHaveLength(accounts.length);
        if (accounts.length > 1) return;
        const isReported = end.attempts.some(({ paidSource }) => paidSource === 'report');
        expect(end.attempts).toHaveLength(Math.max(1, confirmed.length + Number(isReported && confirmed.length > 0)));
      }),
    );
  });

  it('counts one payment once, in any order of its reports and under any of its names', () => {
    const names = [
      { reference: 'cs_1', transactionId: 'pi_1' },
      { reference: 'pi_1', transactionId: null },
      { reference: 'pi_1', transactionId: 'ch_1' },
    ];
    const told = fc.record({
      name: fc.constantFrom(...names),
      source: fc.constantFrom('report' as const, 'provider' as const),
    });
    fc.assert(
      fc.property(fc.array(told, { minLength: 1, maxLength: 8 }), (reports) => {
        const start = order({ attempts: [SESSION] });
        const end = reports.reduce(
          (before, { name, source }) => bookMoney(before, money({ ...name, source })).after,
          start,
        );
        const counted = end.attempts.filter(({ status }) => status === 'PAID');
        // A report alone does not show that the intent belongs to the session.
        const isTold = reports.some(({ name, source }) => name === names[0] && source === 'provider');
        const hasReport = reports.some(({ name, source }) => name === names[0] && source === 'report');
        if (isTold || hasReport || counted.length < 2) expect(counted).toHaveLength(1);
      }),
    );
  });
});

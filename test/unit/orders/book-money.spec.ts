import fc from 'fast-check';
import { bookMoney } from '../../../src/orders/pay/book-money';
import { type PaymentAttempt } from '../../../src/orders/payment-attempt';
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

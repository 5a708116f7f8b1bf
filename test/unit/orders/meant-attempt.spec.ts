import { meantAttempt } from '../../../src/orders/model/order';
import { attempt, paid } from './orders';

const names = (reference: string, transactionId: string | null = null) => {
  return { provider: 'fake', reference, merchantAccount: null, transactionId };
};

describe('the attempt that a provider means', () => {
  const certain = paid({ orderId: 'o-2', reference: 'cs_1', transactionId: 'pi_1', paidSource: 'provider' });

  it.each([
    ['is registered', attempt({ reference: 'pi_1' })],
    ['has the payment by its word', paid({ reference: 'pi_1', registered: false, paidSource: 'provider' })],
  ])('has the reference and %s', (_, known) => {
    expect(meantAttempt([certain, known], names('pi_1'))).toBe(known);
  });

  it.each([
    ['a report has made', paid({ reference: 'pi_1', registered: false, paidSource: 'report' })],
    ['is another name', attempt({ reference: 'pi_1', status: 'DUPLICATE' })],
  ])('is the one that has its confirmed id, rather than one with the reference that %s', (_, known) => {
    expect(meantAttempt([known, certain], names('pi_1'))).toBe(certain);
    expect(meantAttempt([known], names('pi_1'))).toBe(known);
  });

  it('is another name of it if nothing else has its id', () => {
    const other = attempt({ reference: 'pi_1', status: 'DUPLICATE', transactionId: 'ch_1' });
    expect(meantAttempt([other], names('ch_1'))).toBe(other);
  });

  it('is not the first payment under a reference if it has the id of another one', () => {
    const first = paid({ reference: 'static', transactionId: 't-1' });
    const second = paid({ reference: 't-2', transactionId: 't-2' });
    expect(meantAttempt([first, second], names('static', 't-2'))).toBe(second);
    expect(meantAttempt([first], names('static', 't-2'))).toBe(first);
  });

  it.each([
    ['a report has made', { registered: false }],
    ['a person has assigned', { assigned: true }],
    ['is another name of what only a report has linked', { registered: false, status: 'DUPLICATE' }],
  ] as const)('is none that %s, if the provider has named another payment for it', (_, how) => {
    const first = paid({ reference: 'static', transactionId: 't-1', ...how });
    expect(meantAttempt([first], names('static', 't-2'))).toBeUndefined();
    const reported = paid({ reference: 't-2', registered: false, paidSource: 'report' });
    expect(meantAttempt([first, reported], names('static', 't-2'))).toBe(reported);
    for (const same of [names('static', 't-1'), names('static'), names('static', 'static')])
      expect(meantAttempt([first], same)).toBe(first);
    expect(meantAttempt([{ ...first, transactionId: null }], names('static', 't-2'))).toBeDefined();
  });

  it('is one that a report has made, whatever id the report has', () => {
    const first = paid({ reference: 'static', transactionId: 'books-1', registered: false, paidSource: 'report' });
    expect(meantAttempt([first], names('static', 't-2'))).toBe(first);
  });
});

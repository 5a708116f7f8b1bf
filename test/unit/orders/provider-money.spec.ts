import { nextStep } from '../../../src/orders/lookup/payment-lookups';
import { attempt, NO_MONEY, NOW, paid, PAID_OUTCOME } from './orders';

describe('the money that a provider states in a look-up', () => {
  const found = (part: object, open = attempt()) => nextStep(open, { query: { ...PAID_OUTCOME, ...part } }, NOW);

  it.each(NO_MONEY)('is not believed if it is %s: a person decides', (_what, part) => {
    for (const one of [attempt(), paid({ paidSource: 'report' })]) {
      expect(found(part, one)).toMatchObject({
        type: 'conclude',
        finding: {
          type: 'UNKNOWN',
          needsPerson: true,
          reason: expect.stringContaining('the provider says PAID') as string,
        },
      });
    }
  });

  it.each([
    ['the smallest amount', { amount: 1n }, 1n],
    ['the largest amount', { amount: 2n ** 53n - 1n }, 2n ** 53n - 1n],
    ['of a transaction id with odd characters', { transactionId: `t\0${'x'.repeat(300)}` }, 100n],
    ['an amount that an adapter in JavaScript states as a number', { amount: 100 }, 100n],
  ])('is believed if it is %s', (_what, part, amount) => {
    expect(found(part)).toMatchObject({ type: 'conclude', finding: { type: 'PAID', amount } });
  });
});

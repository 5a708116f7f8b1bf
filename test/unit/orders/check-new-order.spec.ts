import { checkNewOrders } from '../../../src/orders/check-new-order';
import { type NewOrder } from '../../../src/orders';

const good: NewOrder = { id: 'o-1', amount: 100, currency: 'EUR', lines: [{ sku: 'a', quantity: 1, unitAmount: 0 }] };

describe('orders given to the module API', () => {
  it('are let through when they can be meant', () => {
    expect(() => checkNewOrders([good, { ...good, id: 'o-2', amount: 2n ** 60n, lines: [] }])).not.toThrow();
  });

  it.each<[string, Partial<Record<keyof NewOrder, unknown>>, string]>([
    ['an amount with a fraction', { amount: 1.5 }, 'amount must be whole minor units, at least 1 (got 1.5)'],
    ['a negative amount', { amount: -1 }, 'amount must be'],
    ['an amount as text', { amount: '100' }, 'amount must be'],
    ['an id with a blank', { id: 'a b' }, 'id must match'],
    ['a currency in small letters', { currency: 'euro' }, 'currency must be three capital letters (got euro)'],
    ['no lines', { lines: undefined }, 'lines must be an array'],
    ['a negative quantity', { lines: [{ sku: 'a', quantity: -2, unitAmount: 1 }] }, 'lines[0].quantity must be'],
    ['two deadlines', { paymentWindowMs: 1, expiresAt: new Date() }, 'give either paymentWindowMs or expiresAt'],
    ['a deadline that is no date', { expiresAt: new Date(NaN) }, 'expiresAt must be a valid date'],
  ])('are refused for %s, in so many words', (_case, change, sentence) => {
    expect(() => checkNewOrders([good, { ...good, ...change } as NewOrder])).toThrow(sentence);
  });

  it('are refused with every problem of every order', () => {
    const bad = { ...good, amount: 0, currency: '' };
    expect(() => checkNewOrders([bad, bad])).toThrow(/^ORDER_TIMEOUT\/INVALID_ORDER: (order "o-1": [^;]+; ){3}order/);
  });
});

import { type NewOrder } from '../../../src/orders/model/new-order';
import { orderFingerprint } from '../../../src/orders/place/insert-orders';

const base = {
  id: 'o-1',
  amount: 10,
  currency: 'EUR',
  lines: [{ sku: 'a', quantity: 1, unitAmount: 10 }],
  metadata: { a: 1, b: { c: [1, 2], d: null } },
} satisfies NewOrder;

describe('the fingerprint of an order', () => {
  it.each<[string, NewOrder]>([
    ['another order of keys', { ...base, metadata: { b: { d: null, c: [1, 2] }, a: 1 } }],
    ['the defaults written out', { ...base, merchantId: 'default', autoClose: true }],
    ['bigint for number', { ...base, amount: 10n }],
    ['undefined for absent', { ...base, expiresAt: undefined }],
    ['an idempotency key', { ...base, idempotencyKey: 'k' }],
  ])('does not change with %s', (_, same) => {
    expect(orderFingerprint(same)).toBe(orderFingerprint(base));
  });

  it.each<[string, NewOrder]>([
    ['amount', { ...base, amount: 11 }],
    ['deadline', { ...base, expiresAt: new Date(1) }],
    ['lines', { ...base, lines: [...base.lines, ...base.lines] }],
    ['metadata', { ...base, metadata: { a: 1, b: { c: [2, 1], d: null } } }],
    ['attempt', { ...base, attempt: { provider: 'p', reference: 'r' } }],
    ['no lines', { ...base, lines: [] }],
  ])('changes with the %s', (_, other) => {
    expect(orderFingerprint(other)).not.toBe(orderFingerprint(base));
  });
});

import { findSilentListeners, OrderPolicies, type OrderPolicyOptions } from '../../../src/orders';

const found = [
  { name: 'mailer', events: ['placed', 'closed'] as const },
  { name: 'ledger', events: ['paid'] as const },
];
const silentWith = (options: OrderPolicyOptions): string[] => findSilentListeners(found, new OrderPolicies(options));

describe('the listeners that will hear nothing', () => {
  it('are those to placed orders, if no policy announces these', () => {
    expect(silentWith({})).toEqual(['mailer']);
  });

  it.each<[string, OrderPolicyOptions]>([
    ['the policy', { placedEvents: 'send' }],
    ['the policy of a merchant', { merchants: { shop: { placedEvents: 'send' } } }],
  ])('are none, if %s does', (_, options) => expect(silentWith(options)).toEqual([]));
});

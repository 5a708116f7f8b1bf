import { reactionTimes, settlingTimes, summarize } from '../../../examples/demo/checking/lateness';
import { ending, soundFacts, withOrder } from './sound-facts';

describe('lateness in the demo', () => {
  it('counts from the deadline to the first step, and to the last', () => {
    expect(reactionTimes(soundFacts.orders)).toEqual([5, 5, 5]);
    expect(settlingTimes(soundFacts.orders)).toEqual([30, 30, 30]);
  });

  it('does not count an order that is still closing as settled', () => {
    const { orders } = withOrder('closed', (order) => ending(order, 'CLOSING'));
    expect(settlingTimes(orders)).toHaveLength(2);
  });

  it('leaves out what the shop itself did', () => {
    const { orders } = withOrder('paid', (order) => ({
      ...order,
      history: order.history.map((entry) => ({ ...entry, cause: 'api' })),
    }));
    expect(reactionTimes(orders)).toHaveLength(2);
  });

  it('tells the value that the given share does not exceed', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(summarize(hundred)).toEqual({ count: 100, p50: 50, p99: 99, max: 100 });
    expect(summarize([])).toEqual({ count: 0, p50: 0, p99: 0, max: 0 });
  });
});

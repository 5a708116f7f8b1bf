import {
  canTransition,
  isUndecided,
  ORDER_STATUSES,
  type OrderStatus,
  TRANSITIONS,
} from '../../../src/orders/model/order';

describe('the order status table', () => {
  it('reaches every status from PENDING', () => {
    const reached = new Set<OrderStatus>(['PENDING']);
    for (const status of reached) for (const next of TRANSITIONS[status]) reached.add(next);
    expect([...reached].sort()).toEqual([...ORDER_STATUSES].sort());
  });

  it('has no transition to PENDING, and no cycle except for repeated refunds', () => {
    const visit = (status: OrderStatus, path: readonly OrderStatus[]): void => {
      expect(path).not.toContain(status);
      const onward = TRANSITIONS[status].filter((next) => !(status === 'CLOSED_REFUNDED' && next === 'REFUNDING'));
      for (const next of onward) visit(next, [...path, status]);
    };
    for (const status of ORDER_STATUSES) visit(status, []);
  });

  it('never leaves PAID, and leaves CLOSED_REFUNDED only for another refund', () => {
    expect(ORDER_STATUSES.filter((status) => TRANSITIONS[status].length === 0)).toEqual(['PAID']);
    expect(TRANSITIONS.CLOSED_REFUNDED).toEqual(['REFUNDING']);
  });

  it.each(ORDER_STATUSES)('never leaves PAID for %s', (status) => {
    expect(canTransition('PAID', status)).toBe(false);
  });

  it('leaves only PENDING and CLOSING to the deadline', () => {
    expect(ORDER_STATUSES.filter(isUndecided)).toEqual(['PENDING', 'CLOSING']);
  });
});

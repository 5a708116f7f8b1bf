import { wakeUpBody, wakeUpBodySql } from '../../../src/outbox/outbox';

describe('the body of a wake-up', () => {
  it('has the same fields whether the process or the database makes it', () => {
    const fields = [...wakeUpBodySql('due_at').matchAll(/'(\w+)',/g)].map(([, field]) => field);
    expect(fields).toEqual(Object.keys(wakeUpBody('order.payment', 'order-1', '7', 0)));
  });
});

import { bulkFilter, readFilter } from '../../../packages/operator-page/src/orders/order-filter';
import { formatRoute, parseRoute } from '../../../packages/operator-page/src/route/route';

const filterOf = (query: string): ReturnType<typeof readFilter> => readFilter(new URLSearchParams(query));

describe('an address of the operator page', () => {
  it('leads to an order, whatever its id', () => {
    const id = 'a:b/../c?d#e%';
    expect(parseRoute(formatRoute('order', {}, id))).toMatchObject({ view: 'order', id });
  });

  it('keeps a filter, with lists and with values that are empty', () => {
    const hash = formatRoute('parked', { kind: 'a&b', reason: '', none: undefined, status: ['x', 'y'] });
    const { query } = parseRoute(hash);
    expect([...query]).toEqual([
      ['kind', 'a&b'],
      ['reason', ''],
      ['status', 'x'],
      ['status', 'y'],
    ]);
  });

  it.each(['', '#', '#/', '#/nowhere', '#/__proto__', '#content'])('%p leads to the overview', (hash) => {
    expect(parseRoute(hash).view).toBe('now');
  });

  it('with a lone percent sign is read as it is', () => {
    expect(parseRoute('#/order/50%').id).toBe('50%');
  });
});

describe('the filter of the orders', () => {
  it('takes what it understands, and leaves out the rest', () => {
    expect(
      filterOf('status=PAID&status=LOST&merchantId=+m-1+&expiresFrom=2030-03-01T12:00:00Z&expiresTo=soon&x=1'),
    ).toEqual({
      status: ['PAID'],
      merchantId: 'm-1',
      expiresFrom: '2030-03-01T12:00:00.000Z',
    });
  });

  it('is narrowed to the orders that an action can change', () => {
    expect(bulkFilter('extend', filterOf('status=PENDING&status=PAID'))).toEqual({ filter: { status: ['PENDING'] } });
    expect(bulkFilter('close', filterOf('provider=stripe'))).toEqual({
      filter: { provider: 'stripe', status: ['PENDING', 'CLOSING'] },
    });
  });

  it.each([
    ['', 'empty'],
    ['status=PAID', 'status'],
    ['status=PENDING&q=o-1', 'search'],
    ['merchantId=m-1&trace=abc', 'search'],
  ])('%p cannot choose the orders of an action (%s)', (query, refusal) => {
    expect(bulkFilter('cancel', filterOf(query))).toEqual({ refusal });
  });
});

import { createHash } from 'node:crypto';
import { type ExecutionContext } from '@nestjs/common';
import { ApiKeys, findApiKeyProblems } from '../../../src/api/http';
import { MerchantScope } from '../../../src/api/http/caller';
import { OrderScopeGuard, scopedOrders } from '../../../src/api/http/caller.guard';
import { type NewOrder } from '../../../src/orders';
import { type OrderMerchants } from '../../../src/orders/sql/order-rows';

const hash = createHash('sha256').update('k').digest('hex');
const scopeOf = (entry: string): MerchantScope | undefined => new ApiKeys([entry]).find('k')?.scope;
const order = (id: string, merchantId?: string): NewOrder => ({
  id,
  merchantId,
  amount: 1,
  currency: 'EUR',
  lines: [],
});

describe('the merchants of an API key', () => {
  it('are all merchants if the key names none', () => {
    const scope = scopeOf(`shop:${hash}:orders:read+orders:write`);
    expect(scope).toBe(MerchantScope.EVERYBODY);
    expect(scope?.allows('anybody')).toBe(true);
    expect(scope?.merchants).toBeUndefined();
  });

  it('follow the scopes, with any characters that ids may have', () => {
    const scope = scopeOf(`shop:${hash}:orders:read+*@eu:shop_1.a-b+constructor`);
    expect(scope?.merchants).toEqual(['eu:shop_1.a-b', 'constructor']);
    expect(scope?.allows('eu:shop_1.a-b')).toBe(true);
    expect(scope?.allows('eu')).toBe(false);
    expect(scope?.allows('toString')).toBe(false);
    expect(new ApiKeys([`shop:${hash}:orders:read@a`]).find('k')?.may(['orders:read'])).toBe(true);
  });

  it.each(['@', '@a+', '@a@b', '@a/b', `@${'a'.repeat(65)}`, '@a b'])('are rejected as %j', (merchants) => {
    const [problem, ...more] = findApiKeyProblems([`shop:${hash}:*${merchants}`]);
    expect(problem).toBe('API key 1 must have merchant ids after "@", joined by "+"');
    expect(more).toEqual([]);
  });
});

describe('new orders placed with a key', () => {
  const one = MerchantScope.ofKey('one', ['a']);
  const two = MerchantScope.ofKey('two', ['a', 'b']);

  it('stay unchanged if the key is not limited', () => {
    const orders = [order('1'), order('2', 'x')];
    expect(scopedOrders(orders, MerchantScope.EVERYBODY)).toBe(orders);
    expect(MerchantScope.EVERYBODY.merchantFor(undefined)).toBeUndefined();
  });

  it('belong to the only merchant of the key, or to the one they name', () => {
    expect(scopedOrders([order('1'), order('2', 'a')], one).map(({ merchantId }) => merchantId)).toEqual(['a', 'a']);
    expect(scopedOrders([order('1', 'b')], two)).toMatchObject([{ merchantId: 'b' }]);
  });

  it('must name their merchant if the key has several', () => {
    expect(() => scopedOrders([order('1', 'a'), order('2')], two)).toThrow('orders.1.merchantId is missing; the API key has several merchants, so name one of them: a, b'); // prettier-ignore
  });

  it('are all refused if some belong to other merchants, and at most twenty are listed', () => {
    const many = Array.from({ length: 30 }, (_, index) => order(`o-${index}`, 'x'));
    expect(() => scopedOrders([order('1'), ...many], one)).toThrow(/merchants: o-0, .*, o-19 and 10 more; key "one" is limited to a$/); // prettier-ignore
  });
});

describe('OrderScopeGuard', () => {
  const of = jest.fn(async (id: string) => (id === 'mine' ? 'a' : id === 'theirs' ? 'b' : undefined));
  const guard = new OrderScopeGuard({ of } as unknown as OrderMerchants);
  const enter = (id: string | undefined, orderTimeoutScope?: MerchantScope): Promise<boolean> => {
    const request = { params: id === undefined ? {} : { id }, orderTimeoutScope };
    return guard.canActivate({ switchToHttp: () => ({ getRequest: () => request }) } as unknown as ExecutionContext);
  };
  const scope = MerchantScope.ofKey('one', ['a']);
  beforeEach(() => of.mockClear());

  it('makes no query for keys without merchants, routes without an order, and invalid ids', async () => {
    expect(await enter('theirs', MerchantScope.EVERYBODY)).toBe(true);
    expect(await enter('theirs')).toBe(true);
    expect(await enter(undefined, scope)).toBe(true);
    expect(await enter('a b', scope)).toBe(true);
    expect(of).not.toHaveBeenCalled();
  });

  it('admits requests for orders of the merchants of the key, and hides other orders', async () => {
    expect(await enter('mine', scope)).toBe(true);
    await expect(enter('theirs', scope)).rejects.toThrow('there is no order "theirs"');
    await expect(enter('missing', scope)).rejects.toThrow('there is no order "missing"');
  });
});

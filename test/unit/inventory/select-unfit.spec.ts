import fc from 'fast-check';
import { selectUnfit, type StockDemand } from '../../../src/inventory';
import { mergeLines } from '../../../src/inventory/inventory';

const demand = (orderId: string, lines: Record<string, number>): StockDemand => ({
  orderId,
  lines: Object.entries(lines).map(([sku, quantity]) => ({ sku, quantity })),
});

describe('selectUnfit', () => {
  it('serves orders first come, first served, and serves a smaller one after a big one that does not fit', () => {
    const demands = [demand('1', { a: 3 }), demand('2', { a: 3 }), demand('3', { a: 2 })];
    expect(selectUnfit(demands, new Map([['a', 5]]))).toEqual([
      { orderId: '2', shortages: [{ sku: 'a', wanted: 3, available: 2 }], unknownSkus: [] },
    ]);
  });

  it('returns unknown SKUs', () => {
    expect(selectUnfit([demand('1', { a: 1, b: 1 })], new Map([['a', 1]]))).toEqual([
      { orderId: '1', shortages: [], unknownSkus: ['b'] },
    ]);
  });

  it('treats a SKU of another merchant as unknown, however much stock it has', () => {
    const demands = [
      { ...demand('1', { own: 1, shared: 1 }), merchantId: 'a' },
      { ...demand('2', { own: 1, shared: 1 }), merchantId: 'b' },
      demand('3', { own: 1 }),
    ];
    const available = new Map([
      ['own', 9],
      ['shared', 9],
    ]);
    expect(selectUnfit(demands, available, new Map([['own', 'a']]))).toEqual([
      { orderId: '2', shortages: [], unknownSkus: ['own'] },
    ]);
  });

  it('never promises more than the stock, and refuses no order that would still fit', () => {
    const sku = fc.constantFrom('a', 'b', 'c');
    const lines = fc.array(fc.record({ sku, quantity: fc.integer({ min: 1, max: 4 }) }), {
      minLength: 1,
      maxLength: 4,
    });
    const stock = fc.dictionary(sku, fc.integer({ min: 0, max: 12 }));
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 8 }), stock, (orders, levels) => {
        const available = new Map(Object.entries(levels));
        const demands = orders.map((wanted, index) => ({ orderId: `${index}`, lines: wanted }));
        const unfit = new Set(selectUnfit(demands, available).map(({ orderId }) => orderId));
        const left = new Map(available);
        for (const { orderId, lines: wanted } of demands) {
          const fits = mergeLines(wanted).every((line) => (left.get(line.sku) ?? -1) >= line.quantity);
          expect(unfit.has(orderId)).toBe(!fits);
          if (!fits) continue;
          for (const line of mergeLines(wanted)) left.set(line.sku, (left.get(line.sku) ?? 0) - line.quantity);
        }
        expect([...left.values()].every((rest) => rest >= 0)).toBe(true);
      }),
    );
  });
});

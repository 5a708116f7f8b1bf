import fc from 'fast-check';
import { Partitions } from '../../../src/timeouts/wake-ups/partitions';

const KIND = 'order.payment';

describe('partitions', () => {
  it('leave names and keys as they are when there is one', () => {
    const one = new Partitions(1);
    expect(one.of(KIND)).toEqual([KIND]);
    expect(one.for(KIND, 'order-1')).toBe(KIND);
  });

  it('keep the first under its old name, so that what waits already still arrives', () => {
    expect(new Partitions(3).of(KIND)).toEqual([KIND, `${KIND}:1`, `${KIND}:2`]);
  });

  it('give a key the same one always, and one that is declared', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.integer({ min: 1, max: 64 }), (key, count) => {
        const routingKey = new Partitions(count).for(KIND, key);
        expect(new Partitions(count).for(KIND, key)).toBe(routingKey);
        expect(new Partitions(count).of(KIND)).toContain(routingKey);
      }),
    );
  });

  it('are filled evenly', () => {
    const partitions = new Partitions(4);
    const filled = new Map<string, number>();
    for (let n = 0; n < 4_000; n++) {
      const routingKey = partitions.for(KIND, `order-${n}`);
      filled.set(routingKey, (filled.get(routingKey) ?? 0) + 1);
    }
    expect(filled.size).toBe(4);
    for (const count of filled.values()) expect(Math.abs(count - 1_000)).toBeLessThan(100);
  });

  it('cannot be mistaken for those of another kind', () => {
    const kinds = ['order', 'order.1', 'order-1', 'order_1'];
    const all = kinds.flatMap((kind) => new Partitions(64).of(kind));
    expect(new Set(all).size).toBe(kinds.length * 64);
  });
});

import fc from 'fast-check';
import { wakeUpBody } from '../../../src/outbox';
import { decodeWakeUp, identitiesOf, type WakeUp } from '../../../src/timeouts/model/timeout';

const body = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const wire = { kind: 'order.payment', key: 'o-1', generation: '7', dueAt: 1_000 };

const generations = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String);
const wakeUps: fc.Arbitrary<WakeUp[]> = fc.array(
  fc.record({
    key: fc.constantFrom('a', 'b', '1 a', '* a', '2'),
    generation: fc.constantFrom(null, '1', '2', '11'),
    dueAtMs: fc.nat(),
    cause: fc.constantFrom('message', 'passive', 'operator'),
  }),
  { maxLength: 30 },
);

const pairsOf = (items: readonly WakeUp[]) => {
  const { keys, generations: wanted } = identitiesOf(items);
  expect(keys).toHaveLength(wanted.length);
  return keys.map((key, index) => ({ key, generation: wanted[index] }));
};

describe('the body of a wake-up', () => {
  it('is read as it was written, its due time never earlier', () => {
    const keys = fc
      .string({ minLength: 1, maxLength: 50, unit: 'grapheme' })
      .filter((key) => key.length <= 200 && !key.includes('\0'));
    const dues = fc.double({ min: -1e12, max: 1e13, noNaN: true });
    fc.assert(
      fc.property(keys, generations, dues, (key, generation, dueAtMs) => {
        const decoded = decodeWakeUp(body({ id: 'x', ...wakeUpBody('order.payment', key, generation, dueAtMs) }));
        const expected = { key, generation, dueAtMs: expect.any(Number) as number, cause: 'message' };
        expect(decoded).toEqual({ type: 'wake-up', kind: 'order.payment', wakeUp: expected });
        if (decoded.type !== 'wake-up') return;
        expect(decoded.wakeUp.dueAtMs).toBeGreaterThanOrEqual(dueAtMs);
        expect(decoded.wakeUp.dueAtMs).toBeLessThanOrEqual(dueAtMs + 1);
      }),
    );
  });

  it.each<[string, Buffer, string | RegExp]>([
    ['is not JSON', Buffer.from('{"kind'), 'the body is not JSON'],
    ['is empty', Buffer.alloc(0), 'the body is not JSON'],
    ['is null', body(null), /object/],
    ['has no kind', body({ ...wire, kind: undefined }), /kind/],
    ['has an endless kind', body({ ...wire, kind: 'k'.repeat(101) }), /kind/],
    ['has an empty key', body({ ...wire, key: '' }), /key/],
    ['has an endless key', body({ ...wire, key: 'k'.repeat(201) }), /key/],
    ['has a generation as a number', body({ ...wire, generation: 7 }), /generation/],
    ['has a generation that is none', body({ ...wire, generation: '7; DROP' }), /generation/],
    ['has a generation of twenty digits', body({ ...wire, generation: '1'.repeat(20) }), /generation/],
    ['has a due time with a fraction', body({ ...wire, dueAt: 0.5 }), /dueAt/],
    ['has a date for a due time', body({ ...wire, dueAt: '2026-01-01T00:00:00Z' }), /dueAt/],
  ])('is invalid, with the reason, when it %s', (_, bytes, reason) => {
    expect(decodeWakeUp(bytes)).toEqual({ type: 'invalid', reason: expect.stringMatching(reason) as string });
  });

  // PostgreSQL refuses them (22003, 22021), so one of them would fail every batch it is part of.
  it.each([{ generation: '9'.repeat(19) }, { key: 'o\u0000' }])(
    'is invalid with the id %j, which no row can have',
    (ids) => {
      expect(decodeWakeUp(body({ ...wire, ...ids })).type).toBe('invalid');
    },
  );

  it('names every problem at once', () => {
    const decoded = decodeWakeUp(body({ kind: '', key: '', generation: '', dueAt: null }));
    const reason = decoded.type === 'invalid' ? decoded.reason : '';
    for (const name of ['kind', 'key', 'generation', 'dueAt']) expect(reason).toContain(name);
  });

  it('never makes the reader throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        expect(['wake-up', 'invalid']).toContain(decodeWakeUp(Buffer.from(text)).type);
      }),
    );
  });
});

describe('identitiesOf', () => {
  it('repeats nothing', () => {
    fc.assert(
      fc.property(wakeUps, (items) => {
        const pairs = pairsOf(items).map((pair) => JSON.stringify(pair));
        expect(new Set(pairs).size).toBe(pairs.length);
      }),
    );
  });

  it('wants any generation of a key exactly when somebody does, and then no other one', () => {
    fc.assert(
      fc.property(wakeUps, (items) => {
        const pairs = pairsOf(items);
        for (const key of new Set(items.map((item) => item.key))) {
          const asked = new Set(items.filter((item) => item.key === key).map(({ generation }) => generation));
          const wanted = pairs.filter((pair) => pair.key === key).map(({ generation }) => generation);
          expect(new Set(wanted)).toEqual(asked.has(null) ? new Set([null]) : asked);
        }
        expect(pairs.filter(({ key }) => !items.some((item) => item.key === key))).toEqual([]);
      }),
    );
  });
});

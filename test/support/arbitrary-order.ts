import fc from 'fast-check';
import { LIMITS } from '../../src/orders';

const text = (length: number) => 'x'.repeat(length);
const wide = (length: number) => '😀'.repeat(length);

/** Good values at and near the border of a field, and those just beyond it. Beyond comes seldom, or nothing would be good. */
function border(good: readonly unknown[], bad: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...bad) },
  );
}

function integer(min: number, max: number): fc.Arbitrary<unknown> {
  return border([min, min + 1, max - 1, max], [min - 1, max + 1, 0.5, NaN, '1', null]);
}

const odd = ['', 'a\0b', 'a\nb', '\ud800', 7, null];
const printable = (length: number) =>
  border(['a', text(length), wide(length)], [text(length + 1), wide(length + 1), ...odd]);
const sku = border(['a', '...', text(LIMITS.sku), wide(LIMITS.sku)], ['.', '..', text(LIMITS.sku + 1), ...odd]);
const id = border(['a', text(64), 'a_b:c.d-e', 'constructor'], [text(65), 'a/b', 'ä', ...odd]);
const provider = border(['p', text(64), '__proto__'], [text(65), 'a:b', ...odd]);
const currency = border(['EUR', 'XXX'], ['eur', 'EURO', 'ÄÖÜ', ...odd]);
const money = (min: number) => integer(min, LIMITS.money);
/** As JSON carries it. */
const instant = border(
  ['2000-01-01T00:00:00Z', '2026-03-01T12:00:00.123+02:00', '9999-12-31T23:59:59.999Z'],
  ['1999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999-01:00', '2026-02-30T00:00:00Z', 'tomorrow', 7],
);

const attempt = fc.record(
  {
    provider,
    reference: fc.tuple(printable(LIMITS.reference), fc.uuid()).map(([value, unique]) => toUnique(value, unique)),
    amount: money(1),
    currency,
    timeExpire: instant,
    merchantAccount: printable(LIMITS.merchantAccount),
    handedOver: fc.boolean(),
  },
  { requiredKeys: ['provider', 'reference'] },
);

const metadata = border(
  [
    {},
    { text: 'ä'.repeat(4_000) },
    JSON.parse('{"a":'.repeat(15) + '{}' + '}'.repeat(15)),
    { constructor: [1e308, -5e-324, null] },
  ],
  [[], 'x', { text: 'ä'.repeat(4_100) }, { note: 'a\0b' }, { '\ud800': 1 }],
);

/** An order as HTTP and AMQP carry it, mostly good, often at the border. Without its id. */
export const arbitraryOrder: fc.Arbitrary<Record<string, unknown>> = fc
  .record(
    {
      merchantId: id,
      amount: money(1),
      currency,
      graceMs: integer(0, LIMITS.graceMs),
      reminderOffsetsMs: fc.array(integer(0, LIMITS.windowMs), { maxLength: 11 }),
      lines: fc.array(fc.record({ sku, quantity: integer(1, LIMITS.quantity), unitAmount: money(0) }), { maxLength: 3 }), // prettier-ignore
      autoClose: fc.boolean(),
      metadata,
      attempt,
    },
    { requiredKeys: ['amount', 'currency', 'lines'] },
  )
  .chain((order) =>
    fc.oneof(
      fc.constant(order),
      integer(0, LIMITS.windowMs).map((paymentWindowMs) => ({ ...order, paymentWindowMs })),
      instant.map((expiresAt) => ({ ...order, expiresAt })),
    ),
  );

/** Of the same length, and used once. */
function toUnique(value: unknown, unique: string): unknown {
  if (typeof value !== 'string' || value.length < unique.length) return value === 'a' ? unique : value;
  return unique + value.slice(unique.length + (unique.length % 2));
}

/** The same order as a caller in the same process gives it. */
export function toModuleOrder(order: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(order).map(([name, value]) => [name, toModuleValue(name, value)]));
}

function toModuleValue(name: string, value: unknown): unknown {
  if (name === 'expiresAt' || name === 'timeExpire')
    return typeof value === 'string' ? new Date(toStrict(value)) : value;
  if (name === 'amount') return Number.isSafeInteger(value) ? BigInt(value as number) : value;
  return name === 'attempt' ? toModuleOrder(value as Record<string, unknown>) : value;
}

/** `new Date` takes the thirtieth of February. */
function toStrict(instant: string): string {
  return instant.startsWith('2026-02-30') ? 'no date' : instant;
}

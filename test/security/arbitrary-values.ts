import fc from 'fast-check';
import { SEEDS } from './attack-stage';

/** Texts that have broken other services: SQL, headers, paths, prototypes, encodings. */
export const NASTY_TEXTS: readonly string[] = [
  ...["'; DROP TABLE order_timeout.orders; --", "' OR '1'='1", "\\'; SELECT pg_sleep(9); --", '$1', '%s%n', '${7*7}'],
  ...['a\r\nX-Evil: 1', 'a\0b', '\ud800', '\u202e', '../../etc/passwd', '..%2f..%2f', '%00', '%E0%A4%A', '%'],
  ...['__proto__', 'constructor', 'toString', 'NaN', 'null', 'undefined', '-1', '1e999', '{{7*7}}', '<script>'],
  ...['x'.repeat(5_000), '𝒳'.repeat(40), ' ', '', '"', "'"],
];

export const nasty = fc.constantFrom(...NASTY_TEXTS);

/** Any text, well formed or not. */
export const anyText = fc.oneof(nasty, fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 40 }));

const seedId = fc.constantFrom(...SEEDS);

/** Ids: of orders that are there, plausible ones, and nonsense. */
export const anyId = fc.oneof(
  { weight: 3, arbitrary: seedId },
  { weight: 1, arbitrary: fc.stringMatching(/^[A-Za-z0-9_:.-]{1,70}$/) },
  { weight: 2, arbitrary: anyText },
);

const anyNumber = fc.constantFrom(0, -0, -1, 0.5, 1e300, 2 ** 31, 2 ** 53, 2 ** 63, -(2 ** 53), 1_999);
const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  anyText,
  anyNumber,
  fc.constantFrom(null, true, false, [], {}),
  fc.jsonValue({ maxDepth: 3 }),
);

const NAMES = [
  ...['id', 'orderId', 'merchantId', 'amount', 'currency', 'paymentWindowMs', 'expiresAt', 'graceMs', 'lines', 'sku'],
  ...['quantity', 'unitAmount', 'metadata', 'attempt', 'provider', 'reference', 'reason', 'byMs', 'enabled', 'onHand'],
  ...['orders', 'timeouts', 'kind', 'key', 'transactionId', 'paidAt', 'timeExpire', 'merchantAccount', '__proto__'],
] as const;

/** An object with known names and any values, and always with one unknown name, so that nothing can accept it. */
export const neverValid: fc.Arbitrary<string> = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), fc.oneof(anyId, anyValue)), { maxLength: 8 })
  .map((fields) => [...fields, ['fuzz', 1] as const])
  .map((fields) => `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`);

const deep = (open: string, close: string, depth: number, core = '1'): string =>
  open.repeat(depth) + core + close.repeat(depth);

/** Bodies below the limit that overflow the stack of a recursive walk. */
export const deepJson: fc.Arbitrary<string> = fc
  .record({
    depth: fc.constantFrom(20, 1_000, 8_000, 40_000),
    shape: fc.constantFrom(['[', ']'] as const, ['{"a":', '}'] as const),
    at: fc.constantFrom('', 'metadata', 'lines', 'reason', 'attempt', 'orders'),
  })
  .map(({ depth, shape: [open, close], at }) => {
    const core = deep(open, close, depth);
    if (at === '') return core;
    return `{"fuzz":1,"id":"deep","amount":1,"currency":"EUR","lines":[],${JSON.stringify(at)}:${core}}`;
  });

/** Whatever may stand in a body that no part of the service may accept. */
export const anyBody: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 12, arbitrary: neverValid.map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
  { weight: 2, arbitrary: neverValid.map((text) => Buffer.from(text.slice(0, text.length >> 1))) },
  { weight: 1, arbitrary: fc.constantFrom('null', '1', '""', '[]', '[{}]', '\ufeff{}', '{"a":1e999}').map((text) => Buffer.from(text)) }, // prettier-ignore
  { weight: 1, arbitrary: deepJson.map((text) => Buffer.from(text)) },
);

/** Half surrogate pairs replaced, as URLs and AMQP cannot carry them. */
export function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

import { z } from 'zod';

type Sentence = (issue: { readonly input?: unknown }) => string;

const DAY_MS = 86_400_000;
/** The engine takes deadlines of at most ten years. */
const MAX_MS = 3_650 * DAY_MS;
/** The column is a 32-bit integer: 24.8 days. */
const MAX_GRACE_MS = 2 ** 31 - 1;
const MAX_QUANTITY = 1_000_000;
const MAX_STOCK = 2 ** 31 - 1;
/** PostgreSQL takes neither NUL nor half a surrogate pair, and nobody means a control character. */
const PRINTABLE = '[^\\p{Cc}\\p{Cs}]';
/** Four-digit years only; what lies outside is a slip in the unit or in the calendar. */
const EARLIEST = new Date('2000-01-01T00:00:00Z');

/** One sentence for whatever is wrong with a field, so that every problem says what would be right. */
function says(sentence: string): { error: Sentence } {
  return { error: ({ input }) => (input === undefined ? `is missing; it must be ${sentence}` : `must be ${sentence}`) };
}

const matching = (pattern: RegExp, sentence: string) => z.string(says(sentence)).regex(pattern, says(sentence));

const printable = (length: number) =>
  matching(
    new RegExp(`^${PRINTABLE}{1,${length}}$`, 'u'),
    `text of 1 to ${length} characters, none of them a control character`,
  );

function integer(min: number, max: number, what: string) {
  const sentence = says(`an integer from ${min} to ${max}, ${what}`);
  return z.int(sentence).min(min, sentence).max(max, sentence);
}

const money = (min: number) => integer(min, Number.MAX_SAFE_INTEGER, 'in minor units such as cents').transform(BigInt);

const INSTANT = says('an ISO 8601 instant with a time zone from the year 2000 on, e.g. "2026-03-01T12:00:00Z"');

/** The fields that inputs are made of, the same for HTTP and AMQP. */
export const fields = {
  orderId: matching(/^[A-Za-z0-9_:.-]{1,64}$/, '1 to 64 letters, digits, "_", "-", ":" or "."'),
  merchantId: matching(/^[A-Za-z0-9_:.-]{1,64}$/, '1 to 64 letters, digits, "_", "-", ":" or "."'),
  provider: matching(
    /^[A-Za-z0-9_.-]{1,64}$/,
    'the name of a payment provider: 1 to 64 letters, digits, "_", "-" or "."',
  ),
  reference: printable(128),
  merchantAccount: printable(128),
  transactionId: printable(128),
  sku: printable(128),
  reason: printable(500),
  idempotencyKey: matching(/^[\x20-\x7e]{1,255}$/, '1 to 255 printable ASCII characters'),
  currency: matching(/^[A-Z]{3}$/, 'an ISO 4217 code of three capital letters, e.g. "EUR"'),
  amount: money(1),
  /** Free lines exist: gifts, samples. */
  unitAmount: money(0),
  quantity: integer(1, MAX_QUANTITY, 'pieces'),
  onHand: integer(0, MAX_STOCK, 'pieces'),
  addedStock: integer(-MAX_STOCK, MAX_STOCK, 'pieces to add (negative: to take away)'),
  windowMs: integer(0, MAX_MS, 'milliseconds'),
  graceMs: integer(0, MAX_GRACE_MS, 'milliseconds'),
  byMs: integer(-MAX_MS, MAX_MS, 'milliseconds (negative: earlier)'),
  flag: z.boolean(says('true or false')),
  instant: z.iso
    .datetime({ offset: true, ...INSTANT })
    .transform((text) => new Date(text))
    .refine((date) => date >= EARLIEST, INSTANT),
} as const;

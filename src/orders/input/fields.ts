import { z } from 'zod';
import { types } from 'node:util';
import { LIMITS } from '../model/order-policies';
import { type MinorUnits } from '../model/new-order';

type Sentence = (issue: { readonly input?: unknown }) => string;

/**
 * PostgreSQL rejects NUL and unpaired surrogates, and a control character is always a mistake. Written as ranges, because
 * the pattern is part of the API documents, and regular expressions of other languages do not know `\p{Cc}`.
 */
const UNPRINTABLE = '\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff';
const PRINTABLE = `[^${UNPRINTABLE}]`;

/** Uses one sentence for any problem of a field, so that every problem states what is valid. */
export function says(sentence: string): { error: Sentence } {
  return { error: ({ input }) => (input === undefined ? `is missing; it must be ${sentence}` : `must be ${sentence}`) };
}

const matching = (pattern: RegExp, sentence: string) => z.string(says(sentence)).regex(pattern, says(sentence));

const UNNAMEABLE = '"." or "..", which no URL can name';

const printable = (length: number) =>
  matching(
    new RegExp(`^${PRINTABLE}{1,${length}}$`, 'u'),
    `text of 1 to ${length} characters without control characters`,
  );

/** Without "." and "..", which a URL resolves away, and without a look-ahead, which other languages lack. */
const nameable = (length: number) => {
  const noDot = `[^.${UNPRINTABLE}]${PRINTABLE}`;
  return matching(
    new RegExp(`^(?:${noDot}{0,${length - 1}}|\\.${noDot}{0,${length - 2}}|\\.\\.${PRINTABLE}{1,${length - 2}})$`, 'u'),
    `text of 1 to ${length} characters without control characters, but not ${UNNAMEABLE}`,
  );
};

function integer(min: number, max: number, what: string) {
  const sentence = says(`an integer from ${min} to ${max}, ${what}`);
  return z.int(sentence).min(min, sentence).max(max, sentence);
}

const MINOR_UNITS = 'in minor units such as cents';

const money = (min: number) =>
  integer(min, LIMITS.money, MINOR_UNITS).transform(BigInt).describe('In minor units, such as cents');

const ID = '1 to 64 letters, digits, "_", "-", ":" or "."';

const id = matching(LIMITS.id, `${ID}, but not ${UNNAMEABLE}`);

const INSTANT = says('an ISO 8601 instant with a time zone from the year 2000 on, e.g. "2026-03-01T12:00:00Z"');

/** The fields of inputs as JSON carries them, over HTTP and AMQP. */
export const fields = {
  orderId: id.describe('The id of the order, chosen by the shop'),
  unmatchedId: z.guid(says('the id of an unmatched payment, a UUID')),
  merchantId: id.describe('The id of the merchant'),
  provider: matching(LIMITS.provider, 'the name of a payment provider: 1 to 64 letters, digits, "_", "-" or "."'),
  reference: printable(LIMITS.reference).describe('The number of the payment at the provider'),
  merchantAccount: printable(LIMITS.merchantAccount).describe('Which account at the provider'),
  transactionId: printable(LIMITS.transactionId).describe('The number that the provider gave the payment'),
  sku: nameable(LIMITS.sku),
  reason: printable(LIMITS.reason),
  actor: printable(LIMITS.actor),
  idempotencyKey: matching(LIMITS.idempotencyKey, '1 to 255 printable ASCII characters').describe(
    'A key of your choice, unique per merchant. Used again for another order, it is rejected',
  ),
  currency: matching(LIMITS.currency, 'an ISO 4217 code of three capital letters, e.g. "EUR"'),
  amount: money(1),
  trace: matching(/^[0-9a-f]{32}$/, 'a W3C trace id, 32 hex digits in lower case'),
  searchText: printable(LIMITS.reference),
  /** Lines may be free: gifts and samples. */
  unitAmount: money(0),
  quantity: integer(1, LIMITS.quantity, 'pieces'),
  onHand: integer(0, LIMITS.stock, 'pieces'),
  addedStock: integer(-LIMITS.stock, LIMITS.stock, 'pieces to add (negative: to remove)').describe(
    'Pieces to add; a negative number removes',
  ),
  windowMs: integer(0, LIMITS.windowMs, 'milliseconds').describe('In milliseconds'),
  graceMs: integer(0, LIMITS.graceMs, 'milliseconds').describe('In milliseconds'),
  byMs: integer(-LIMITS.windowMs, LIMITS.windowMs, 'milliseconds (negative: earlier)').describe(
    'In milliseconds from the present deadline; a negative number shortens',
  ),
  flag: z.boolean(says('true or false')),
  instant: z.iso
    .datetime({ offset: true, ...INSTANT })
    .transform((text) => new Date(text))
    .refine((date) => date >= LIMITS.earliest && date <= LIMITS.latest, INSTANT)
    .describe('An ISO 8601 instant with a time zone, from the year 2000 on'),
} as const;

export type Fields = { readonly [Name in keyof typeof fields]: z.ZodType };

const moduleMoney = (min: number) =>
  z.custom<MinorUnits>(
    (value) => isMinorUnits(value, min),
    says(`an integer or a bigint from ${min} to ${LIMITS.money}, ${MINOR_UNITS}`),
  );

function isMinorUnits(value: unknown, min: number): boolean {
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value);
  return isWhole && (value as MinorUnits) >= min && (value as MinorUnits) <= LIMITS.money;
}

const instant = (earliest: Date) =>
  z.custom<Date>(
    (value) => types.isDate(value) && value >= earliest && value <= LIMITS.latest,
    says(`a valid Date in the years ${earliest.getUTCFullYear()} to ${LIMITS.latest.getUTCFullYear()}`),
  );

/** Any text that PostgreSQL can store. */
const storable = (length: number) => {
  const sentence = says(`text of 1 to ${length} characters, without NUL or unpaired surrogates`);
  return z.string(sentence).regex(new RegExp(`^[^\\0\\p{Cs}]{1,${length}}$`, 'u'), sentence);
};

/** The fields of inputs from a caller in the same process: money may be a bigint, and an instant is a Date. */
export const moduleFields = {
  ...fields,
  amount: moduleMoney(1),
  unitAmount: moduleMoney(0),
  instant: instant(LIMITS.earliest),
} as const;

/**
 * The fields of a reported payment. It may be for an order or attempt that was stored under older rules, or come from a
 * provider with a wrong clock, so a payment is rejected only for values that the tables cannot store.
 */
export const moneyFields = {
  ...moduleFields,
  orderId: matching(/^[\w:.-]{1,64}$/, ID),
  provider: storable(64),
  reference: storable(LIMITS.reference),
  merchantAccount: storable(LIMITS.merchantAccount),
  transactionId: storable(LIMITS.transactionId),
  instant: instant(new Date(0)),
} as const;

/**
 * Pure: JSON Schemas of objects with both fields, and with neither. The API documents exclude them with `not`, which
 * generators of clients ignore. Many of them fail at the shorter `oneOf` and `if`.
 */
export function bothOrNeither(one: string, other: string): readonly object[] {
  const neither = { not: { anyOf: [{ required: [one] }, { required: [other] }] } };
  return [{ required: [one, other] }, neither];
}

/** One problem of an input. `path` is dot-separated, and empty for the input as a whole. */
export interface InputProblem {
  readonly path: string;
  readonly message: string;
}

/** More do not help, and 1000 invalid orders would make a response of megabytes. */
export const MAX_PROBLEMS = 50;

/** Lists each problem once, in order. @param noObject the message for an input that is not an object. */
export function problemsOf(error: z.ZodError, noObject?: string, at: readonly string[] = []): InputProblem[] {
  const problems = error.issues.flatMap((issue) => toProblems(issue, at, noObject));
  // A number that is too large is not a safe integer either. One sentence is enough.
  return [...new Map(problems.map((problem) => [toSentence(problem), problem])).values()];
}

export function toSentence({ path, message }: InputProblem): string {
  return path === '' ? message : `${path} ${message}`;
}

function toProblems(issue: z.core.$ZodIssue, at: readonly string[], noObject = 'must be an object'): InputProblem[] {
  const path = [...at, ...issue.path.map(String)];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'is not a known field' }));
    case 'invalid_type': {
      const notAnObject = path.length > 0 ? 'must be a JSON object' : noObject;
      return [{ path: path.join('.'), message: issue.expected === 'object' ? notAnObject : issue.message }];
    }
    default:
      return [{ path: path.join('.'), message: issue.message }];
  }
}

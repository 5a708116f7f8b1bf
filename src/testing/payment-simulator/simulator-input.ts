import { z } from 'zod';

const milliseconds = z.int().min(0).max(86_400_000);
/** An instant as epoch milliseconds, given as such or as an ISO string. */
const instant = z.union([z.int().min(0), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))]);
const reference = z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable ASCII characters');

/** After the buyer acts the payment is PROCESSING for this long, or AUTHORIZED for ever. */
const manner = { processingMs: milliseconds.default(0), authorizes: z.boolean().default(false) };

/** What the scripted buyer does. A payment that comes after a close is refused, and counted. */
const buyer = z.discriminatedUnion('buyer', [
  z.strictObject({ buyer: z.literal('never') }),
  z.strictObject({ buyer: z.literal('pays-at'), at: instant, ...manner }),
  z.strictObject({ buyer: z.literal('pays-after'), ms: milliseconds, ...manner }),
  /** `byMs` before the deadline; negative: that much after it. */
  z.strictObject({
    buyer: z.literal('pays-before-deadline'),
    deadline: instant,
    byMs: z.int().min(-86_400_000).max(86_400_000).default(100),
    ...manner,
  }),
  /** Right after the shop's nth query was answered, so between the query and the close. */
  z.strictObject({ buyer: z.literal('pays-after-query'), nth: z.int().min(1).default(1), ...manner }),
]);

/** When and how often a fault strikes; counted from the moment it is set. */
const window = {
  on: z.enum(['query', 'close']).optional(),
  times: z.int().min(1).optional(),
  afterMs: milliseconds.default(0),
  forMs: milliseconds.optional(),
};

/** What goes wrong. Before the effect: latency, error, hang, drop, not-found. After it: all the others. */
export const faultInput = z.discriminatedUnion('fault', [
  z.strictObject({
    fault: z.literal('latency'),
    ms: milliseconds,
    phase: z.enum(['before-effect', 'after-effect']).default('before-effect'),
    ...window,
  }),
  z.strictObject({
    fault: z.literal('error'),
    status: z.int().min(400).max(599).default(503),
    retryAfterSeconds: z.int().min(0).optional(),
    ...window,
  }),
  z.strictObject({
    fault: z.enum([
      'hang',
      'drop',
      'not-found',
      'lost-response',
      'wrong-signature',
      'unsigned',
      'wrong-reference',
      'wrong-nonce',
      'unrecognised',
      'garbage',
    ]),
    ...window,
  }),
  z.strictObject({ fault: z.literal('skewed-clock'), seconds: z.int().default(-3_600), ...window }),
]);

/** How the shop is told of a payment: a POST of `{provider, reference, orderId?, amount, currency, ...}`. */
const notify = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
  lost: z.boolean().default(false),
  delayMs: milliseconds.default(0),
  /** Above 1: duplicates. */
  times: z.int().min(1).max(10).default(1),
});

/** Body of `POST /script/payments`. */
export const paymentInput = z.strictObject({
  reference,
  orderId: z.string().min(1).max(64).optional(),
  merchantAccount: z.string().min(1).max(64).optional(),
  /** Minor units: an integer, or digits where it may exceed 2^53. */
  amount: z.union([z.int().min(1), z.string().regex(/^[1-9]\d{0,17}$/)]).transform((given) => BigInt(given)),
  currency: z.string().regex(/^[A-Z]{3}$/),
  /** From this instant the buyer is refused although the payment stays OPEN. */
  timeExpire: instant.optional(),
  script: buyer.default({ buyer: 'never' }),
  faults: z.array(faultInput).default([]),
  notify: notify.optional(),
});

/** A payment as a script may give it, before defaults. */
export type PaymentInput = z.input<typeof paymentInput>;
/** A payment with every default filled in. */
export type PaymentTerms = z.output<typeof paymentInput>;
/** A fault as a script may give it, before defaults. */
export type FaultInput = z.input<typeof faultInput>;
/** A fault with every default filled in. */
export type Fault = z.output<typeof faultInput>;
/** What a scripted buyer does. */
export type BuyerScript = z.output<typeof buyer>;

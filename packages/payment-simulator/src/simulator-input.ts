import { z } from 'zod';
import { PAYMENT_EVENTS } from './payment-hooks';

const milliseconds = z.int().min(0).max(86_400_000);
/** An instant as epoch milliseconds, given as such or as an ISO string. */
const instant = z.union([z.int().min(0), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))]);
const reference = z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable ASCII characters');

/** After the buyer acts the payment is PROCESSING for this long, or AUTHORIZED forever. */
const manner = { processingMs: milliseconds.default(0), authorizes: z.boolean().default(false) };

/** What the scripted buyer does. A payment that comes after a close is refused, and counted. */
const buyer = z.discriminatedUnion('buyer', [
  z.strictObject({ buyer: z.literal('never'), ...manner }),
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
  /** That long after the shop's first close; works if the close did not, as before a scan, in its lag, or if it lied. */
  z.strictObject({ buyer: z.literal('pays-after-close'), ms: milliseconds, ...manner }),
  /** Scans, so that the provider knows of the payment, and does not pay. */
  z.strictObject({ buyer: z.literal('scans-after'), ms: milliseconds, ...manner }),
  /** `payMs` after the scan. */
  z.strictObject({ buyer: z.literal('scans-then-pays'), scanMs: milliseconds, payMs: milliseconds, ...manner }),
]);

/** What a shop asks of a provider. */
const operation = z.enum(['query', 'close', 'refund']);

/** When and how often a fault strikes; counted from the moment it is set. */
const window = {
  on: operation.optional(),
  times: z.int().min(1).optional(),
  afterMs: milliseconds.default(0),
  forMs: milliseconds.optional(),
};

/**
 * What goes wrong. Before the effect: latency, error, error-without-body, hang, drop, not-found, rate-limited.
 * After it: all the others.
 */
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
      'rate-limited',
      'error-without-body',
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

/** How the shop is told of what happens to a payment: POSTs in the provider's format. */
const notify = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), z.string()).default({}),
  /** All of it, or what is told of these events. */
  lost: z.union([z.boolean(), z.array(z.enum(PAYMENT_EVENTS))]).default(false),
  delayMs: milliseconds.default(0),
  /** Above 1: duplicates. */
  times: z.int().min(1).max(10).default(1),
  /** Held back for a moment, and then the last one first. */
  reorder: z.boolean().default(false),
  /** That many copies with a wrong signature go out before the right one. */
  forged: z.int().min(0).max(10).default(0),
  /** Stripe's events in a form of years ago: fewer fields, so that they tell of a change and of no amount. */
  oldForm: z.boolean().default(false),
});

/** Minor units: an integer, or digits where it may exceed 2^53. */
const amount = z.union([z.int().min(1), z.string().regex(/^[1-9]\d{0,17}$/)]).transform((given) => BigInt(given));
const currency = z.string().regex(/^[A-Z]{3}$/);

/** What a script may set at any time. */
const behavior = {
  script: buyer,
  notify,
  /** From this instant the buyer is refused although the payment stays OPEN. */
  timeExpire: instant,
  /** A close says so at once, but takes effect only then: queries say OPEN, and the buyer can pay. */
  closeLagMs: milliseconds,
  /** A close says so, and queries too, but the buyer can pay. */
  closeLies: z.boolean(),
  /** What the buyer pays instead of `amount`. */
  partialAmount: amount,
  /** What the buyer pays in instead of `currency`. */
  paidCurrency: currency,
  /** How long a refund is PENDING. */
  refundProcessingMs: milliseconds,
  /** That many calls for a refund are rejected. */
  rejectRefunds: z.int().min(0),
};

/** Body of `POST /script/payments`. */
export const paymentInput = z.strictObject({
  /** Whose protocol: the first segment of its paths. */
  provider: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/)
    .default('simulator'),
  reference,
  orderId: z.string().min(1).max(64).optional(),
  merchantAccount: z.string().min(1).max(64).optional(),
  amount,
  currency,
  ...z.object(behavior).partial().shape,
  /** `scan`: neither query nor close know of it until the buyer scans it; a close before does not keep him from paying. */
  existsFrom: z.enum(['creation', 'scan']).default('creation'),
  script: buyer.prefault({ buyer: 'never' }),
  closeLagMs: behavior.closeLagMs.default(0),
  closeLies: behavior.closeLies.default(false),
  refundProcessingMs: behavior.refundProcessingMs.default(0),
  rejectRefunds: behavior.rejectRefunds.default(0),
  faults: z.array(faultInput).default([]),
});

/** Body of `POST /script/payments/{provider}/{reference}/script`: what changes. The buyer's times count from now. */
export const scriptInput = z.strictObject({
  ...z.object(behavior).partial().shape,
  faults: z.array(faultInput).default([]),
});

/** Body of `POST /script/payments/{provider}/{reference}/refund`. */
export const refundInput = z.strictObject({ amount: amount.optional() });

/** A payment as a script may give it, before defaults. */
export type PaymentInput = z.input<typeof paymentInput>;
/** A payment with every default filled in. */
export type PaymentTerms = z.output<typeof paymentInput>;
/** A change of the script as it may be given, before defaults. */
export type ScriptInput = z.input<typeof scriptInput>;
/** A change of the script with every default filled in. */
export type ScriptChange = z.output<typeof scriptInput>;
/** A fault as a script may give it, before defaults. */
export type FaultInput = z.input<typeof faultInput>;
/** A fault with every default filled in. */
export type Fault = z.output<typeof faultInput>;
/** What a shop asks of a provider. */
export type Operation = z.output<typeof operation>;
/** What a scripted buyer does. */
export type BuyerScript = z.output<typeof buyer>;
/** How the shop is told. */
export type NotifyTerms = z.output<typeof notify>;

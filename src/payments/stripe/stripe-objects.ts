import { z } from 'zod';

/** An amount in the currency's smallest unit. Only safe integers are accepted, so it was not rounded. */
const amount = z.int().min(0).transform(BigInt);
/** Stripe writes ISO 4217 codes in lower case. */
const currency = z
  .string()
  .regex(/^[a-z]{3}$/)
  .transform((given) => given.toUpperCase());
/** Epoch seconds. */
const instant = z
  .int()
  .min(0)
  .transform((seconds) => new Date(seconds * 1_000));
const id = z.string().min(1).max(255);
const metadata = z.record(z.string(), z.string()).nullish();

const charge = z.object({ id, refunded: z.boolean(), amount_refunded: amount, created: instant });

/** A PaymentIntent as retrieved (latest_charge expanded), returned by cancel, or sent by a webhook. */
export const intentObject = z.object({
  id: z.string().regex(/^pi_/),
  object: z.literal('payment_intent'),
  status: z.string(),
  amount_received: amount,
  currency,
  livemode: z.boolean(),
  latest_charge: z.union([charge, id]).nullish(),
  metadata,
  payment_details: z.object({ order_reference: z.string().nullish() }).nullish(),
});

/** A Checkout Session. `payment_intent` is expanded in answers, and an id in webhooks. */
export const sessionObject = z.object({
  id: z.string().regex(/^cs_/),
  object: z.literal('checkout.session'),
  mode: z.string(),
  status: z.string(),
  payment_status: z.string(),
  amount_total: amount.nullish(),
  currency: currency.nullish(),
  /** Set when the session's amounts are not in the merchant's currency. */
  currency_conversion: z.unknown(),
  livemode: z.boolean(),
  payment_intent: z.union([intentObject, id]).nullish(),
});

/** A Refund. It has no `livemode`. */
export const refundObject = z.object({
  id: z.string().regex(/^(?:re|pyr)_/),
  object: z.literal('refund'),
  status: z.string().nullable(),
  amount,
  currency,
  payment_intent: id.nullish(),
  failure_reason: z.string().nullish(),
  metadata,
});

/** One page of an intent's refunds, newest first. */
export const refundList = z.object({
  object: z.literal('list'),
  data: z.array(refundObject),
  has_more: z.boolean(),
});

/** A Dispute: the bank takes the payment back, or asks about it. */
export const disputeObject = z.object({
  id,
  object: z.literal('dispute'),
  amount,
  currency,
  payment_intent: z.string().regex(/^pi_/),
  reason: z.string(),
  status: z.string(),
  evidence_details: z.object({ due_by: instant.nullish() }).nullish(),
});

/** The minimum that identifies a payment. */
export const payable = z.object({ id: z.string().regex(/^(?:pi|cs)_/) });

/** The fields that charges and refunds have in common. */
export const refundNews = z.object({ id, payment_intent: z.string().regex(/^pi_/) });

/** A snapshot event, as webhooks send it. `account` is the connected account, if there is one. */
export const eventObject = z.object({
  id,
  object: z.literal('event'),
  type: z.string(),
  created: instant,
  livemode: z.boolean(),
  account: z.string().nullish(),
  data: z.object({ object: z.unknown() }),
});

export type Intent = z.output<typeof intentObject>;
export type Session = z.output<typeof sessionObject>;
export type Refund = z.output<typeof refundObject>;
export type StripeEvent = z.output<typeof eventObject>;

import { type PaidOutcome, type PaymentEvidence } from './payment-outcome';

/** A request as the provider sent it. */
export interface NotificationRequest {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The unparsed body: the signature covers its bytes. */
  readonly rawBody: Buffer;
}

/**
 * A notification that was read.
 * - `PAID`: verified; the provider took the money
 * - `STATUS_CHANGED`: verified; the state of the payment changed, so look it up
 * - `CHARGEBACK`: verified; the buyer's bank takes `amount` back, or asks about the payment. A person is told
 * - `IGNORED`: verified; changes nothing
 * - `REJECTED`: not trusted or not readable; changes nothing
 */
export type Notification =
  | (PaidOutcome & { readonly reference: string; readonly merchantAccount?: string })
  | {
      readonly type: 'STATUS_CHANGED';
      readonly reference: string;
      readonly merchantAccount?: string;
      readonly evidence: PaymentEvidence;
    }
  | {
      readonly type: 'CHARGEBACK';
      readonly reference: string;
      readonly merchantAccount?: string;
      /** In minor units of `currency`. */
      readonly amount: bigint;
      /** ISO 4217, upper case. */
      readonly currency: string;
      readonly evidence: PaymentEvidence;
    }
  | { readonly type: 'IGNORED'; readonly reason: string }
  | { readonly type: 'REJECTED'; readonly reason: string };

/**
 * How to answer the request. `accepted` stops redeliveries. `later` requests a redelivery, because the notification
 * could not be stored. `rejected` is for notifications that are not trusted.
 */
export type NotificationVerdict = 'accepted' | 'later' | 'rejected';

/** An answer in the provider's format. */
export interface NotificationReply {
  readonly status: number;
  readonly contentType?: string;
  readonly body: string;
}

/** Reads a provider's notifications. Verifies signature, age, and merchant. Never throws or calls the provider. */
export interface NotificationReader {
  read(request: NotificationRequest): Promise<Notification>;
  reply(verdict: NotificationVerdict): NotificationReply;
}

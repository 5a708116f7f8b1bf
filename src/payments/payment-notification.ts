import { type PaidOutcome, type PaymentEvidence } from './payment-outcome';

/** A request as the provider sent it. */
export interface NotificationRequest {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body byte for byte: signatures are over it. */
  readonly rawBody: Buffer;
}

/**
 * What a notification says.
 * - `PAID`: verified, money was taken · `NEWS`: verified, the state of the payment changed; ask for it
 * - `IGNORED`: verified, and of no interest · `REJECTED`: not to be believed, or not readable; changes nothing
 */
export type Notification =
  | (PaidOutcome & { readonly reference: string; readonly merchantAccount?: string })
  | {
      readonly type: 'NEWS';
      readonly reference: string;
      readonly merchantAccount?: string;
      readonly evidence: PaymentEvidence;
    }
  | { readonly type: 'IGNORED'; readonly reason: string }
  | { readonly type: 'REJECTED'; readonly reason: string };

/**
 * How the request is to be answered: `accepted` ends the provider's repetitions; `later` asks for another delivery,
 * as it could not be written down; `rejected` is for what is not to be believed.
 */
export type NotificationVerdict = 'accepted' | 'later' | 'rejected';

/** An answer in exactly the provider's format. */
export interface NotificationReply {
  readonly status: number;
  readonly contentType?: string;
  readonly body: string;
}

/** Reads a provider's notifications. Verifies signature, age and merchant; never throws; asks nobody. */
export interface NotificationReader {
  read(request: NotificationRequest): Promise<Notification>;
  reply(verdict: NotificationVerdict): NotificationReply;
}

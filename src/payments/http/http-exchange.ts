import { type PaymentAttemptRef } from '../payment-attempt-ref';

/** One request to the provider and all that its answer has to match. */
export interface HttpExchange {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Path with query string, as it is signed. */
  readonly path: string;
  readonly secret: string;
  /** Random; the answer repeats it, so that an old answer cannot be played again. */
  readonly nonce: string;
  readonly attempt: PaymentAttemptRef;
  /** JSON, or empty. */
  readonly requestBody: string;
}

/** The raw answer. */
export interface HttpAnswer {
  readonly status: number;
  readonly timestamp: string | null;
  readonly signature: string | null;
  readonly body: Uint8Array;
}

import { type PaymentAttemptRef } from '../payment-attempt-ref';

/** One request to the provider, with everything that its answer must match. */
export interface HttpExchange {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Path with the query string, as it is signed. */
  readonly path: string;
  readonly secret: string;
  /** Random. The answer repeats it, so an old answer cannot be replayed. */
  readonly nonce: string;
  readonly attempt: PaymentAttemptRef;
  /** JSON, or empty. */
  readonly requestBody: string;
}

/** The answer before it is verified. */
export interface HttpAnswer {
  readonly status: number;
  readonly timestamp: string | null;
  readonly signature: string | null;
  readonly body: Uint8Array;
}

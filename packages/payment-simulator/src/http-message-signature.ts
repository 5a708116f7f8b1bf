// The provider's side of the signatures in docs/http-provider.md. They are not shared with HttpPaymentProvider: a
// mistake in code that both sides use would cancel out, and no test would see it.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Header names of the signed exchange. */
export const SIGNATURE_HEADERS = { signature: 'x-signature', timestamp: 'x-timestamp', nonce: 'x-nonce' } as const;

/** A signed message older or newer than this is refused, as in the protocol. */
const MAX_SKEW_SECONDS = 300;

/** What both signatures cover. */
interface SignedExchange {
  /** Epoch seconds, as in the header. */
  readonly timestamp: string;
  readonly method: string;
  /** Path with query string, as in the request line. */
  readonly path: string;
  /** The exact bytes of the body; empty if there is none. */
  readonly body: Uint8Array;
}

/** Hex HMAC-SHA256 over `timestamp \n method path \n nonce \n body`. */
export function signHttpRequest(secret: string, message: SignedExchange & { readonly nonce: string }): string {
  return sign(secret, message, message.nonce);
}

/** Hex HMAC-SHA256 over `timestamp \n method path \n status \n body`. */
export function signHttpResponse(secret: string, message: SignedExchange & { readonly status: number }): string {
  return sign(secret, message, String(message.status));
}

/** Whether two signatures are the same, for any length of the one that was sent. */
export function isSameSignature(expected: string, given: string): boolean {
  const left = Buffer.from(expected);
  const right = Buffer.from(given);
  return left.length === right.length && timingSafeEqual(left, right);
}

/** True for epoch seconds within MAX_SKEW_SECONDS of `nowMs` (epoch milliseconds). */
export function isFreshTimestamp(timestamp: string, nowMs: number): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(Number(timestamp) - nowMs / 1_000) <= MAX_SKEW_SECONDS;
}

function sign(secret: string, { timestamp, method, path, body }: SignedExchange, third: string): string {
  return createHmac('sha256', secret).update(`${timestamp}\n${method} ${path}\n${third}\n`).update(body).digest('hex');
}

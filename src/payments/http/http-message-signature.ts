import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type PaymentEvidence, type UnknownOutcome } from '../payment-provider';
import { type HttpAnswer, type HttpExchange } from './send-http-request';

/** Header names of the signed exchange. */
export const SIGNATURE_HEADERS = { signature: 'x-signature', timestamp: 'x-timestamp', nonce: 'x-nonce' } as const;

/** Signed messages that differ by more from our clock are rejected. WeChat Pay and Stripe use the same limit. */
export const MAX_SKEW_SECONDS = 300;

/** What both signatures cover. */
interface SignedExchange {
  /** Epoch seconds, as in the header. */
  readonly timestamp: string;
  readonly method: string;
  /** Path with the query string, as in the request line. */
  readonly path: string;
  /** The exact bytes of the body, or empty. */
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

/** Compares in constant time, so an attacker cannot find a signature digit by digit. */
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

/** An answer that was signed by the provider and belongs to this request. Its content is not interpreted yet. */
export interface VerifiedAnswer {
  readonly type: 'VERIFIED';
  readonly httpStatus: number;
  readonly body: PaymentEvidence;
  /** The time by the provider's clock. */
  readonly now: Date;
  readonly evidence: PaymentEvidence;
}

const echo = z.looseObject({
  reference: z.string(),
  nonce: z.string(),
  merchantAccount: z.string().nullable(),
  now: z.iso.datetime(),
});

/** Checks signature, age, and echoed fields. If one check fails, the answer is UNKNOWN, whatever its body says. */
export function verifyAnswer(
  exchange: HttpExchange,
  answer: HttpAnswer,
  nowMs: number,
): VerifiedAnswer | UnknownOutcome {
  const { status, timestamp, signature, body } = answer;
  if (timestamp === null || signature === null) return unverified(answer, 'it is not signed');
  const expected = signHttpResponse(exchange.secret, { ...exchange, timestamp, status, body });
  if (!isSameSignature(expected, signature)) return unverified(answer, 'its signature is wrong');
  if (!isFreshTimestamp(timestamp, nowMs))
    return unverified(answer, `its timestamp ${timestamp} is too far from this machine's clock`);
  const parsed = echo.safeParse(parseJson(body));
  if (!parsed.success) return unverified(answer, 'its body does not have the documented format');
  const mismatch = findMismatch(exchange, parsed.data);
  if (mismatch) return unverified(answer, `it answers another request (${mismatch})`);
  const evidence = { httpStatus: status, timestamp, body: parsed.data };
  return { type: 'VERIFIED', httpStatus: status, body: parsed.data, now: new Date(parsed.data.now), evidence };
}

function findMismatch({ attempt, nonce }: HttpExchange, body: z.output<typeof echo>): string | undefined {
  if (body.reference !== attempt.reference) return 'reference';
  if (body.nonce !== nonce) return 'nonce';
  return body.merchantAccount === (attempt.merchantAccount ?? null) ? undefined : 'merchant account';
}

function unverified(answer: HttpAnswer, why: string): UnknownOutcome {
  return { type: 'UNKNOWN', reason: `answer with status ${answer.status} is not trusted: ${why}`, untrusted: true };
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return undefined;
  }
}

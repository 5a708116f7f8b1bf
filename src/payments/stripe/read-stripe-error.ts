import { z } from 'zod';
import { type UnknownOutcome } from '../payment-outcome';
import { type StripeFailure, type StripeReply } from './stripe-reply';

/** The fields of stripe-node's errors that are used. */
const shape = z.object({
  type: z.string().catch('Error'),
  statusCode: z.number().optional().catch(undefined),
  code: z.string().catch(''),
  message: z.string().catch('no message').transform(withoutKeys),
  headers: z.record(z.string(), z.unknown()).catch({}),
  detail: z.unknown(),
});

/** Messages are stored. Stripe masks keys in them, but a proxy that echoes the request does not. */
function withoutKeys(text: string): string {
  return text.replace(/\b(sk|rk|whsec)_\w{4,}/g, '$1_***');
}

type StripeErrorShape = z.output<typeof shape>;

/** Longer waits in the Retry-After header are cut to this, so that no order is delayed for hours. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Maps an error that stripe-node threw. */
export function readStripeError(error: unknown): StripeReply {
  const parsed = shape.safeParse(error);
  if (!parsed.success) return failed({ type: 'UNKNOWN', reason: `the call to Stripe failed: ${String(error)}` });
  const { statusCode, type, message } = parsed.data;
  if (statusCode === undefined) return withoutStatus(parsed.data);
  if (statusCode >= 500) return serverError(statusCode, parsed.data.headers, message);
  if (statusCode === 429) return rateLimited(parsed.data);
  if (statusCode === 401 || statusCode === 403) return notAllowed(parsed.data);
  if (statusCode === 409) return failed({ type: 'UNKNOWN', reason: `Stripe is busy with this payment: ${message}` });
  if (type === 'StripeIdempotencyError') {
    const outcome = {
      type: 'UNKNOWN',
      reason: `the idempotency key was used for a different request: ${message}`,
    } as const;
    return { type: 'FAILED', outcome, isStored: true, isReplayed: true };
  }
  return refused(statusCode, parsed.data);
}

/** Stripe stores the first result of an idempotency key, even a 500. */
export function serverError(status: number, headers: Record<string, unknown>, message?: string): StripeFailure {
  const reason = `Stripe failed with status ${status}${message === undefined ? '' : `: ${message}`}`;
  const outcome: UnknownOutcome = { type: 'UNKNOWN', reason, outage: true };
  return { type: 'FAILED', outcome, isStored: true, isReplayed: isReplayed(headers) };
}

/** A failure for which Stripe stores no result. */
export function failed(outcome: UnknownOutcome): StripeFailure {
  return { type: 'FAILED', outcome, isStored: false, isReplayed: false };
}

function withoutStatus({ type, message, detail }: StripeErrorShape): StripeFailure {
  // stripe-node reports an answer that is not JSON as an API error. Usually it is the error page of a proxy.
  if (type !== 'StripeConnectionError' && type !== 'StripeAPIError') {
    return failed({ type: 'UNKNOWN', reason: `the call to Stripe failed: ${message}` });
  }
  const why = causeOf(detail);
  return failed({
    type: 'UNKNOWN',
    reason: `no answer from Stripe: ${message}${why ? ` (${why})` : ''}`,
    outage: true,
  });
}

function rateLimited({ headers, message }: StripeErrorShape): StripeFailure {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  const outcome = { type: 'UNKNOWN', reason: `Stripe's rate limit was reached: ${message}` } as const;
  if (!(seconds >= 0)) return failed(outcome);
  return failed({ ...outcome, retryAfterMs: Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) });
}

function notAllowed({ statusCode, message }: StripeErrorShape): StripeFailure {
  const who = statusCode === 401 ? 'does not accept the secret key' : 'does not allow this for the secret key';
  return failed({ type: 'UNKNOWN', reason: `Stripe ${who}, check the merchant's key and account: ${message}` });
}

function refused(status: number, { code, message, headers }: StripeErrorShape): StripeReply {
  const date = new Date(String(headers['date']));
  const now = Number.isNaN(date.getTime()) ? undefined : date;
  return { type: 'REFUSED', status, code, message, isReplayed: isReplayed(headers), now };
}

function isReplayed(headers: Record<string, unknown>): boolean {
  return headers['idempotent-replayed'] === 'true';
}

/** The messages are only "fetch failed" and "Failed to read the response body"; what they wrap says why. */
function causeOf(detail: unknown): string | undefined {
  if (!(detail instanceof Error)) return undefined;
  const cause = 'exception' in detail ? detail.exception : detail.cause;
  return cause instanceof Error ? cause.message || cause.name : detail.message;
}

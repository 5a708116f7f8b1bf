import { z } from 'zod';
import { type UnknownOutcome } from '../payment-outcome';
import { type StripeFailure, type StripeReply } from './stripe-reply';

/** What stripe-node's errors have in common, as far as it is needed. */
const shape = z.object({
  type: z.string().catch('Error'),
  statusCode: z.number().optional().catch(undefined),
  code: z.string().catch(''),
  message: z.string().catch('no message').transform(withoutKeys),
  headers: z.record(z.string(), z.unknown()).catch({}),
  detail: z.unknown(),
});

/** Stripe cuts keys in its messages; a proxy that repeats the request would not, and messages are stored. */
function withoutKeys(text: string): string {
  return text.replace(/\b(sk|rk|whsec)_\w{4,}/g, '$1_***');
}

type StripeErrorShape = z.output<typeof shape>;

/** Waits asked for by a header are cut to this: an order must not be put off for hours. */
const MAX_RETRY_AFTER_MS = 60_000;

/** What an error that stripe-node threw says about the payment. */
export function readStripeError(error: unknown): StripeReply {
  const parsed = shape.safeParse(error);
  if (!parsed.success) return failed({ type: 'UNKNOWN', reason: `call of Stripe failed: ${String(error)}` });
  const { statusCode, type, message } = parsed.data;
  if (statusCode === undefined) return withoutStatus(parsed.data);
  if (statusCode >= 500) return serverError(statusCode, parsed.data.headers, message);
  if (statusCode === 429) return rateLimited(parsed.data);
  if (statusCode === 401 || statusCode === 403) return notAllowed(parsed.data);
  if (statusCode === 409) return failed({ type: 'UNKNOWN', reason: `Stripe is busy with this payment: ${message}` });
  if (type === 'StripeIdempotencyError') {
    const outcome = { type: 'UNKNOWN', reason: `idempotency key was used otherwise: ${message}` } as const;
    return { type: 'FAILED', outcome, isStored: true, isReplayed: true };
  }
  return refused(statusCode, parsed.data);
}

/** Stripe keeps the first result of an idempotency key, a 500 too. */
export function serverError(status: number, headers: Record<string, unknown>, message?: string): StripeFailure {
  const reason = `Stripe failed with status ${status}${message === undefined ? '' : `: ${message}`}`;
  const outcome: UnknownOutcome = { type: 'UNKNOWN', reason, outage: true };
  return { type: 'FAILED', outcome, isStored: true, isReplayed: isReplayed(headers) };
}

/** A failure that leaves nothing stored. */
export function failed(outcome: UnknownOutcome): StripeFailure {
  return { type: 'FAILED', outcome, isStored: false, isReplayed: false };
}

function withoutStatus({ type, message, detail }: StripeErrorShape): StripeFailure {
  // stripe-node calls an answer that is not JSON an API error; a proxy's error page is what it mostly is.
  if (type !== 'StripeConnectionError' && type !== 'StripeAPIError') {
    return failed({ type: 'UNKNOWN', reason: `call of Stripe failed: ${message}` });
  }
  const why = causeOf(detail);
  return failed({ type: 'UNKNOWN', reason: `no answer of Stripe: ${message}${why ? ` (${why})` : ''}`, outage: true });
}

function rateLimited({ headers, message }: StripeErrorShape): StripeFailure {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  const outcome = { type: 'UNKNOWN', reason: `Stripe limits our rate: ${message}` } as const;
  if (!(seconds >= 0)) return failed(outcome);
  return failed({ ...outcome, retryAfterMs: Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) });
}

function notAllowed({ statusCode, message }: StripeErrorShape): StripeFailure {
  const who = statusCode === 401 ? 'does not accept the secret key' : 'does not let the secret key do this';
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

/** fetch says only "fetch failed"; its cause says why. */
function causeOf(detail: unknown): string | undefined {
  if (!(detail instanceof Error)) return undefined;
  return detail.cause instanceof Error ? detail.cause.message || detail.cause.name : detail.message;
}

import { AsyncLocalStorage } from 'node:async_hooks';
import Stripe from 'stripe';
import { z } from 'zod';
import {
  MAX_RETRY_AFTER_MS,
  type NotFoundOutcome,
  type PaymentEvidence,
  type QueryOutcome,
  type UnknownOutcome,
  unknown,
} from '../payment-provider';
import {
  toIntentOutcome,
  toSessionOutcome,
  type Found,
  recognize,
  type Intent,
  intentObject,
  type Session,
  sessionObject,
} from './stripe-objects';
import { type ResolvedStripeMerchant, type ResolvedStripeOptions } from './stripe-options';

/** Reads the payments of one merchant. Never throws. */
export class StripeAccount {
  readonly connection: StripeConnection;
  readonly livemode: boolean | undefined;

  constructor(merchant: ResolvedStripeMerchant, options: ResolvedStripeOptions) {
    this.connection = new StripeConnection(merchant, options);
    this.livemode = merchant.livemode;
  }

  async queryIntent(id: string, signal: AbortSignal): Promise<QueryOutcome> {
    const found = await this.findIntent(id, signal);
    return found.type === 'FOUND' ? toIntentOutcome(found.object) : found;
  }

  async querySession(id: string, signal: AbortSignal): Promise<QueryOutcome> {
    const found = await this.findSession(id, signal);
    return found.type === 'FOUND' ? toSessionOutcome(found.object) : found;
  }

  /** Retrieves by id, because Stripe's search lags behind. */
  async findIntent(id: string, signal: AbortSignal): Promise<Found<Intent> | NotFoundOutcome | UnknownOutcome> {
    const reply = await this.connection.call(signal, (stripe) =>
      stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] }),
    );
    if (reply.type === 'FAILED') return reply.outcome;
    if (reply.type === 'REFUSED') return toMissing(reply);
    return recognize(intentObject, reply.body, { id, livemode: this.livemode });
  }

  async findSession(id: string, signal: AbortSignal): Promise<Found<Session> | NotFoundOutcome | UnknownOutcome> {
    const reply = await this.connection.call(signal, (stripe) =>
      stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent.latest_charge'] }),
    );
    if (reply.type === 'FAILED') return reply.outcome;
    if (reply.type === 'REFUSED') return toMissing(reply);
    return recognize(sessionObject, reply.body, { id, livemode: this.livemode });
  }
}

/** NOT_FOUND if Stripe says so. Otherwise UNKNOWN with Stripe's message. */
export function toMissing(refusal: StripeRefusal): NotFoundOutcome | UnknownOutcome {
  const { status, code, message, now } = refusal;
  // "a similar object exists in live mode, but a test mode key was used": the object exists, but the key is wrong.
  const isElsewhere = /similar object exists/i.test(message);
  if (status !== 404 || code !== 'resource_missing' || isElsewhere) return refusedBy(refusal);
  const evidence = { status, code };
  return now ? { type: 'NOT_FOUND', providerNow: now, evidence } : { type: 'NOT_FOUND', evidence };
}

export function refusedBy({ status, code, message }: StripeRefusal, evidence?: PaymentEvidence): UnknownOutcome {
  return unknown(`Stripe refused with ${status} ${code}: ${message}`, { evidence });
}

/** stripe-node returns the parsed body with the response attached. */
type Response = object & { readonly lastResponse?: { readonly statusCode?: number; readonly headers?: unknown } };

/** Calls Stripe's API for one merchant. Never throws. */
class StripeConnection {
  private readonly signals = new AsyncLocalStorage<AbortSignal>();
  private readonly stripe: Stripe.Stripe;

  constructor(merchant: ResolvedStripeMerchant, { baseUrl, timeoutMs }: ResolvedStripeOptions) {
    const { secretKey, stripeAccount } = merchant;
    this.stripe = new Stripe(secretKey, {
      // The engine retries, because it knows the deadline and counts the tries.
      maxNetworkRetries: 0,
      timeout: timeoutMs,
      telemetry: false,
      // Not node:http: stripe-node then sends again after a closed connection, in spite of 0 retries.
      httpClient: Stripe.createFetchHttpClient(stripeFetch(baseUrl, this.signals)),
      ...(stripeAccount === undefined ? {} : { stripeAccount }),
    });
  }

  async call(signal: AbortSignal, ask: (stripe: Stripe.Stripe) => Promise<Response>): Promise<StripeReply> {
    if (signal.aborted) return gaveUp();
    try {
      return readResponse(await this.signals.run(signal, () => ask(this.stripe)));
    } catch (error) {
      return signal.aborted ? gaveUp() : readStripeError(error);
    }
  }
}

/** stripe-node treats every JSON body without `error` as a success, whatever the HTTP status is. */
function readResponse(response: Response): StripeReply {
  const { lastResponse, ...body } = response;
  const status = lastResponse?.statusCode ?? 0;
  if (status === 200) return { type: 'ANSWERED', body };
  if (status >= 500) return serverError(status, headersOf(lastResponse?.headers));
  return failed(unknown(`Stripe answered with status ${status} and neither a result nor an error`));
}

function headersOf(headers: unknown): Record<string, unknown> {
  return headers instanceof Headers ? Object.fromEntries(headers) : {};
}

function gaveUp(): StripeReply {
  return failed(unknown('gave up waiting for an answer from Stripe'));
}

interface StripeAnswer {
  readonly type: 'ANSWERED';
  readonly body: unknown;
}

/** Stripe understood the request and refused it. Repeating it has the same result until something changes at Stripe. */
export interface StripeRefusal {
  readonly type: 'REFUSED';
  readonly status: number;
  /** Stripe's error code, such as `resource_missing`; empty if it gave none. */
  readonly code: string;
  readonly message: string;
  /** This is the stored result of an earlier call with the same idempotency key. */
  readonly isReplayed: boolean;
  /** The time by Stripe's clock when it answered. */
  readonly now: Date | undefined;
}

/** No answer, or an answer that says nothing about the payment. */
interface StripeFailure {
  readonly type: 'FAILED';
  readonly outcome: UnknownOutcome;
  /** Stripe stored this result and replays it for the same idempotency key for 24 h. */
  readonly isStored: boolean;
  /** This is the result of an earlier call with the same idempotency key. */
  readonly isReplayed: boolean;
}

export type StripeReply = StripeAnswer | StripeRefusal | StripeFailure;

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

function readStripeError(error: unknown): StripeReply {
  const parsed = shape.safeParse(error);
  if (!parsed.success) return failed(unknown(`the call to Stripe failed: ${String(error)}`));
  const { statusCode, type, message } = parsed.data;
  if (statusCode === undefined) return withoutStatus(parsed.data);
  if (statusCode >= 500) return serverError(statusCode, parsed.data.headers, message);
  if (statusCode === 429) return rateLimited(parsed.data);
  if (statusCode === 401 || statusCode === 403) return notAllowed(parsed.data);
  if (statusCode === 409) return failed(unknown(`Stripe is busy with this payment: ${message}`));
  if (type === 'StripeIdempotencyError') {
    const outcome = unknown(`the idempotency key was used for a different request: ${message}`);
    return { type: 'FAILED', outcome, isStored: true, isReplayed: true };
  }
  return refused(statusCode, parsed.data);
}

/** Stripe stores the first result of an idempotency key, even a 500. */
function serverError(status: number, headers: Record<string, unknown>, message?: string): StripeFailure {
  const reason = `Stripe failed with status ${status}${message === undefined ? '' : `: ${message}`}`;
  const outcome = unknown(reason, { outage: true });
  return { type: 'FAILED', outcome, isStored: true, isReplayed: isReplayed(headers) };
}

function failed(outcome: UnknownOutcome): StripeFailure {
  return { type: 'FAILED', outcome, isStored: false, isReplayed: false };
}

function withoutStatus({ type, message, detail }: StripeErrorShape): StripeFailure {
  // stripe-node reports an answer that is not JSON as an API error. Usually it is the error page of a proxy.
  if (type !== 'StripeConnectionError' && type !== 'StripeAPIError') {
    return failed(unknown(`the call to Stripe failed: ${message}`));
  }
  const why = causeOf(detail);
  return failed(unknown(`no answer from Stripe: ${message}${why ? ` (${why})` : ''}`, { outage: true }));
}

function rateLimited({ headers, message }: StripeErrorShape): StripeFailure {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  const wait = seconds >= 0 ? Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) : undefined;
  return failed(unknown(`Stripe's rate limit was reached: ${message}`, { retryAfterMs: wait }));
}

function notAllowed({ statusCode, message }: StripeErrorShape): StripeFailure {
  const who = statusCode === 401 ? 'does not accept the secret key' : 'does not allow this for the secret key';
  return failed(unknown(`Stripe ${who}, check the merchant's key and account: ${message}`));
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

/** Of an answer, decompressed: a page of 100 refunds has less than a tenth. 389 kB of gzip can hold hundreds of megabytes. */
const MAX_ANSWER_BYTES = 2_097_152;

/**
 * The fetch function for stripe-node. Sends to `baseUrl`, including its path, and aborts with the signal of the current
 * call, because stripe-node accepts no signal. Stops at an answer that is too long. Does not follow redirects: another address would see the secret key.
 */
function stripeFetch(baseUrl: string, signals: AsyncLocalStorage<AbortSignal>): typeof fetch {
  return async (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const given = [signals.getStore(), init?.signal].filter((signal) => signal instanceof AbortSignal);
    const headers = new Headers(init?.headers);
    // fetch sets the header itself. The undici that alipay-sdk installs rejects a request that has it twice.
    headers.delete('content-length');
    const signal = AbortSignal.any(given);
    const response = await fetch(`${baseUrl}${pathname}${search}`, { ...init, headers, redirect: 'error', signal });
    return response.body ? new Response(response.body.pipeThrough(limit()), response) : response;
  };
}

function limit(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      bytes += chunk.byteLength;
      if (bytes <= MAX_ANSWER_BYTES) controller.enqueue(chunk);
      else controller.error(new RangeError(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`));
    },
  });
}

/** Above this number, the oldest payment is forgotten, which costs one more call for it. */
const MAX_REMEMBERED = 10_000;

/**
 * Idempotency keys `{subject}:{n}`. Stripe stores the first result of a key for 24 h, including refusals and 500s, so
 * after a result the next call needs a new key. After a call without an answer the key stays: repeating it returns the
 * result of the lost call.
 */
export class IdempotencyKeys {
  private readonly numbers = new Map<string, number>();

  current(subject: string): string {
    return `${subject}:${this.numbers.get(subject) ?? 1}`;
  }

  /** Call it when Stripe has stored a result for the current key. */
  advance(subject: string): void {
    const next = (this.numbers.get(subject) ?? 1) + 1;
    this.numbers.delete(subject);
    this.numbers.set(subject, next);
    const [oldest] = this.numbers.keys();
    if (this.numbers.size > MAX_REMEMBERED && oldest !== undefined) this.numbers.delete(oldest);
  }
}

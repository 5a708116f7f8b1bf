import { randomUUID } from 'node:crypto';
import { type Clock } from '../../clock';
import { type PaymentAttemptRef } from '../payment-attempt-ref';
import { type CloseOutcome, type QueryOutcome, type UnknownOutcome } from '../payment-outcome';
import { type PaymentProvider } from '../payment-provider';
import { type HttpExchange } from './http-exchange';
import { SIGNATURE_HEADERS, signHttpRequest } from './http-message-signature';
import {
  type HttpPaymentOptions,
  type ResolvedHttpPaymentOptions,
  resolveHttpPaymentOptions,
} from './http-payment-options';
import { toCloseOutcome, toQueryOutcome } from './map-answer';
import { readBoundedBody } from './read-bounded-body';
import { retryAfterMs } from './retry-after';
import { type VerifiedAnswer, verifyAnswer } from './verify-answer';

/** Printable ASCII, and neither "." nor "..", which a URL folds away so that something else is asked about. */
const SENDABLE_REFERENCE = /^(?!\.{1,2}$)[\x21-\x7e]{1,128}$/;

/**
 * A provider behind two signed HTTP calls: `GET {baseUrl}/payments/{reference}` and
 * `POST {baseUrl}/payments/{reference}/close`, each with `?merchantAccount=` if the attempt has one.
 * Never throws. Has no time-out of its own: wrap it in GuardedProvider.
 */
export class HttpPaymentProvider implements PaymentProvider {
  readonly name: string;
  private readonly options: ResolvedHttpPaymentOptions;

  /** @throws InvalidOptionsError naming every bad option. */
  constructor(
    options: HttpPaymentOptions,
    private readonly clock: Clock,
  ) {
    this.options = resolveHttpPaymentOptions(options);
    this.name = this.options.name;
  }

  async query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome> {
    const answer = await this.ask('GET', attempt, '', signal);
    return answer.type === 'VERIFIED' ? toQueryOutcome(answer) : answer;
  }

  async close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome> {
    const answer = await this.ask('POST', attempt, '/close', signal);
    return answer.type === 'VERIFIED' ? toCloseOutcome(answer) : answer;
  }

  private async ask(
    method: 'GET' | 'POST',
    attempt: PaymentAttemptRef,
    action: string,
    signal: AbortSignal,
  ): Promise<VerifiedAnswer | UnknownOutcome> {
    const exchange = this.prepare(method, attempt, action);
    if ('type' in exchange) return exchange;
    try {
      return await this.send(exchange, signal);
    } catch (error) {
      if (signal.aborted) return { type: 'UNKNOWN', reason: 'gave up waiting for the answer' };
      return { type: 'UNKNOWN', reason: `no answer: ${describe(error)}`, outage: true };
    }
  }

  private prepare(method: 'GET' | 'POST', attempt: PaymentAttemptRef, action: string): HttpExchange | UnknownOutcome {
    const { merchantAccount, reference } = attempt;
    const secret = this.secretOf(merchantAccount);
    if (secret === undefined) {
      return { type: 'UNKNOWN', reason: `no secret is configured for merchant account "${merchantAccount ?? ''}"` };
    }
    if (!SENDABLE_REFERENCE.test(reference)) {
      return { type: 'UNKNOWN', reason: `reference ${JSON.stringify(reference)} cannot be part of a URL` };
    }
    const url = new URL(`${this.options.baseUrl}/payments/${encodeURIComponent(reference)}${action}`);
    if (merchantAccount !== undefined) url.searchParams.set('merchantAccount', merchantAccount);
    return { method, url, path: url.pathname + url.search, secret, nonce: randomUUID(), attempt };
  }

  private secretOf(merchantAccount: string | undefined): string | undefined {
    if (merchantAccount === undefined) return this.options.secret;
    const { merchantSecrets } = this.options;
    return Object.hasOwn(merchantSecrets, merchantAccount) ? merchantSecrets[merchantAccount] : undefined;
  }

  private async send(exchange: HttpExchange, signal: AbortSignal): Promise<VerifiedAnswer | UnknownOutcome> {
    // A redirect is not followed: the answer of another address is not the one that was asked for.
    const init: RequestInit = { method: exchange.method, headers: this.sign(exchange), redirect: 'manual', signal };
    const response = await fetch(exchange.url, init);
    const body = await readBoundedBody(response, this.options.maxBodyBytes);
    const overload = this.overload(response);
    if (overload) return overload;
    if (!body) return { type: 'UNKNOWN', reason: `answer is longer than ${this.options.maxBodyBytes} bytes` };
    const timestamp = response.headers.get(SIGNATURE_HEADERS.timestamp);
    const signature = response.headers.get(SIGNATURE_HEADERS.signature);
    return verifyAnswer(exchange, { status: response.status, timestamp, signature, body }, this.clock.now());
  }

  private sign({ secret, method, path, nonce }: HttpExchange): Record<string, string> {
    const timestamp = String(Math.floor(this.clock.now() / 1_000));
    const signature = signHttpRequest(secret, { timestamp, method, path, nonce, body: new Uint8Array() });
    return {
      [SIGNATURE_HEADERS.timestamp]: timestamp,
      [SIGNATURE_HEADERS.nonce]: nonce,
      [SIGNATURE_HEADERS.signature]: signature,
    };
  }

  /** 429 and 5xx need no signature: UNKNOWN is what they mean either way. */
  private overload({ status, headers }: Response): UnknownOutcome | undefined {
    if (status !== 429 && status < 500) return undefined;
    const retryMs = retryAfterMs(headers.get('retry-after'), this.clock.now());
    return {
      type: 'UNKNOWN',
      reason: status === 429 ? 'provider limits our rate (429)' : `provider failed with status ${status}`,
      outage: status >= 500,
      ...(retryMs === undefined ? {} : { retryAfterMs: retryMs }),
    };
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // fetch says only "fetch failed"; the cause says why.
  return error.cause instanceof Error ? error.cause.message || error.cause.name : error.message;
}

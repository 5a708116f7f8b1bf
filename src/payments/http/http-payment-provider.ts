import { randomUUID } from 'node:crypto';
import { type Clock } from '../../clock';
import { type PaymentAttemptRef } from '../payment-attempt-ref';
import { type CloseOutcome, type QueryOutcome, type RefundOutcome, type UnknownOutcome } from '../payment-outcome';
import { type PaymentProvider } from '../payment-provider';
import { type RefundRequest } from '../refund-request';
import { type HttpExchange } from './http-exchange';
import { SIGNATURE_HEADERS, signHttpRequest } from './http-message-signature';
import {
  type HttpPaymentOptions,
  type ResolvedHttpPaymentOptions,
  resolveHttpPaymentOptions,
} from './http-payment-options';
import { toCloseOutcome, toQueryOutcome, toRefundOutcome } from './map-answer';
import { retryAfterMs } from './retry-after';
import { type Connection, type HttpResponse, sendHttpRequest, StaleConnectionError } from './send-http-request';
import { type VerifiedAnswer, verifyAnswer } from './verify-answer';

/** Printable ASCII, except "." and "..", which a URL resolves away: the request would be about another payment. */
const SENDABLE_REFERENCE = /^(?!\.{1,2}$)[\x21-\x7e]{1,128}$/;

/** A request about an attempt. */
interface Question {
  readonly method: 'GET' | 'POST';
  /** Appended to the payment's path. */
  readonly action: '' | '/close' | '/refunds';
  /** JSON, or empty. */
  readonly requestBody: string;
}

const QUERY: Question = { method: 'GET', action: '', requestBody: '' };
const CLOSE: Question = { method: 'POST', action: '/close', requestBody: '' };

/**
 * A provider behind three signed HTTP calls: `GET {baseUrl}/payments/{reference}`, and `POST` to the same path with
 * `/close` or `/refunds`, each with `?merchantAccount=` if the attempt has one.
 * Never throws. Has no time-out: wrap it in ResilientProvider.
 */
export class HttpPaymentProvider implements PaymentProvider {
  readonly name: string;
  private readonly options: ResolvedHttpPaymentOptions;

  /** @throws InvalidOptionsError with every invalid option. */
  constructor(
    options: HttpPaymentOptions,
    private readonly clock: Clock,
  ) {
    this.options = resolveHttpPaymentOptions(options);
    this.name = this.options.name;
  }

  /** Without a secret, payments of the account cannot be looked up. */
  hasAccount(account: string): boolean {
    return this.secretOf(account) !== undefined;
  }

  async query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome> {
    const answer = await this.ask(QUERY, attempt, signal);
    return answer.type === 'VERIFIED' ? toQueryOutcome(answer) : answer;
  }

  async close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome> {
    const answer = await this.ask(CLOSE, attempt, signal);
    return answer.type === 'VERIFIED' ? toCloseOutcome(answer) : answer;
  }

  async refund(refund: RefundRequest, signal: AbortSignal): Promise<RefundOutcome> {
    const { attempt, refundNumber, amount, currency, reason, transactionId } = refund;
    // A string of digits, because JSON numbers are not exact above 2^53.
    const requestBody = JSON.stringify({ refundNumber, amount: String(amount), currency, reason, transactionId });
    const answer = await this.ask({ method: 'POST', action: '/refunds', requestBody }, attempt, signal);
    return answer.type === 'VERIFIED' ? toRefundOutcome(answer) : answer;
  }

  private async ask(
    question: Question,
    attempt: PaymentAttemptRef,
    signal: AbortSignal,
  ): Promise<VerifiedAnswer | UnknownOutcome> {
    const exchange = this.prepare(question, attempt);
    if ('type' in exchange) return exchange;
    try {
      return await this.sendAnew(exchange, signal);
    } catch (error) {
      if (signal.aborted) return { type: 'UNKNOWN', reason: 'gave up waiting for the answer' };
      return { type: 'UNKNOWN', reason: `no answer: ${describe(error)}`, outage: true };
    }
  }

  /** Repeating is safe: close and refund are idempotent by their reference and refund number. */
  private async sendAnew(exchange: HttpExchange, signal: AbortSignal): Promise<VerifiedAnswer | UnknownOutcome> {
    try {
      return await this.send(exchange, signal, 'kept');
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      return this.send({ ...exchange, nonce: randomUUID() }, signal, 'new');
    }
  }

  private prepare(
    { method, action, requestBody }: Question,
    attempt: PaymentAttemptRef,
  ): HttpExchange | UnknownOutcome {
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
    return { method, url, path: url.pathname + url.search, secret, nonce: randomUUID(), attempt, requestBody };
  }

  private secretOf(merchantAccount: string | undefined): string | undefined {
    if (merchantAccount === undefined) return this.options.secret;
    const { merchantSecrets } = this.options;
    return Object.hasOwn(merchantSecrets, merchantAccount) ? merchantSecrets[merchantAccount] : undefined;
  }

  private async send(
    exchange: HttpExchange,
    signal: AbortSignal,
    connection: Connection,
  ): Promise<VerifiedAnswer | UnknownOutcome> {
    const { maxBodyBytes } = this.options;
    const response = await sendHttpRequest(exchange, this.headersOf(exchange), { maxBodyBytes, signal, connection });
    const { status, headers, body } = response;
    const overload = this.overload(response);
    if (overload) return overload;
    if (!body) return { type: 'UNKNOWN', reason: `answer is longer than ${maxBodyBytes} bytes` };
    const timestamp = headerOf(headers[SIGNATURE_HEADERS.timestamp]);
    const signature = headerOf(headers[SIGNATURE_HEADERS.signature]);
    return verifyAnswer(exchange, { status, timestamp, signature, body }, this.clock.now());
  }

  private headersOf({ secret, method, path, nonce, requestBody }: HttpExchange): Record<string, string> {
    const timestamp = String(Math.floor(this.clock.now() / 1_000));
    const signature = signHttpRequest(secret, { timestamp, method, path, nonce, body: Buffer.from(requestBody) });
    return {
      ...(requestBody === '' ? {} : { 'content-type': 'application/json' }),
      // Without it, node:http sends an empty POST in chunks.
      ...(method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(requestBody)) }),
      [SIGNATURE_HEADERS.timestamp]: timestamp,
      [SIGNATURE_HEADERS.nonce]: nonce,
      [SIGNATURE_HEADERS.signature]: signature,
    };
  }

  /** 429 and 5xx need no signature: they mean UNKNOWN whether they are genuine or not. */
  private overload({ status, headers }: HttpResponse): UnknownOutcome | undefined {
    if (status !== 429 && status < 500) return undefined;
    const retryMs = retryAfterMs(headers['retry-after'] ?? null, this.clock.now());
    return {
      type: 'UNKNOWN',
      reason: status === 429 ? "the provider's rate limit was reached (429)" : `provider failed with status ${status}`,
      outage: status >= 500,
      ...(retryMs === undefined ? {} : { retryAfterMs: retryMs }),
    };
  }
}

/** Node joins repeated headers with a comma, so a repeated timestamp or signature is invalid. */
function headerOf(value: string | string[] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // If the host name has several addresses, the message is empty; the code says what happened.
  return error.message || String((error as NodeJS.ErrnoException).code ?? error.name);
}

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Clock, retryAfterMs } from '../../clock';
import { MerchantAccounts } from '../payment-providers';
import {
  type PaymentAttemptRef,
  type CloseOutcome,
  type QueryOutcome,
  type RefundOutcome,
  type UnknownOutcome,
  type PaymentProvider,
  type RefundRequest,
  MAX_RETRY_AFTER_MS,
  parseOptions,
  unknown,
} from '../payment-provider';
import {
  type HttpExchange,
  type Connection,
  type HttpResponse,
  sendHttpRequest,
  StaleConnectionError,
  SIGNATURE_HEADERS,
  signHttpRequest,
  type VerifiedAnswer,
  verifyAnswer,
} from './http-exchange';

/** Printable ASCII, except "." and "..", which a URL resolves away: the request would be about another payment. */
const SENDABLE_REFERENCE = /^(?!\.{1,2}$)[\x21-\x7e]{1,128}$/;

interface Question {
  readonly method: 'GET' | 'POST';
  /** Appended to the payment's path. */
  readonly action: '' | '/close' | '/refunds';
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
  private readonly accounts: MerchantAccounts<string>;

  /** @throws InvalidOptionsError with every invalid option. */
  constructor(
    options: HttpPaymentOptions,
    private readonly clock: Clock,
  ) {
    this.options = resolveHttpPaymentOptions(options);
    this.name = this.options.name;
    this.accounts = new MerchantAccounts(this.options.merchantSecrets);
  }

  /** With a secret of its own, attempts need no account. */
  get defaultAccount(): string | null | undefined {
    return this.options.secret === undefined ? this.accounts.defaultAccount : undefined;
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
      if (signal.aborted) return unknown('gave up waiting for the answer');
      return unknown(`no answer: ${describe(error)}`, { outage: true });
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
      return unknown(`no secret is configured for merchant account "${merchantAccount ?? ''}"`);
    }
    if (!SENDABLE_REFERENCE.test(reference)) {
      return unknown(`reference ${JSON.stringify(reference)} cannot be part of a URL`);
    }
    const url = new URL(`${this.options.baseUrl}/payments/${encodeURIComponent(reference)}${action}`);
    if (merchantAccount !== undefined) url.searchParams.set('merchantAccount', merchantAccount);
    return { method, url, path: url.pathname + url.search, secret, nonce: randomUUID(), attempt, requestBody };
  }

  private secretOf(merchantAccount: string | undefined): string | undefined {
    return merchantAccount === undefined ? this.options.secret : this.accounts.of(merchantAccount);
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
    if (!body) return unknown(`answer is longer than ${maxBodyBytes} bytes`);
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
    const retryMs = retryAfterMs(headers['retry-after'], this.clock.now(), MAX_RETRY_AFTER_MS);
    return unknown(
      status === 429 ? "the provider's rate limit was reached (429)" : `provider failed with status ${status}`,
      { outage: status >= 500, retryAfterMs: retryMs },
    );
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

/** A shorter secret can be found by brute force from one signed message. */
const secret = z.string().min(16);

const schema = z.strictObject({
  name: z.string().min(1).max(64),
  baseUrl: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' }),
  secret: secret.optional(),
  merchantSecrets: z.record(z.string().min(1), secret).default({}),
  maxBodyBytes: z.int().min(1_024).max(1_048_576).default(65_536),
});

/** Options of HttpPaymentProvider. */
export interface HttpPaymentOptions {
  /** Name of the provider, which payment attempts refer to. */
  readonly name: string;
  /** For example `https://pay.example.com/v1`; `/payments/{reference}` is appended. */
  readonly baseUrl: string;
  /** Shared secret for attempts without a merchant account, at least 16 characters. */
  readonly secret?: string;
  /** Shared secrets by merchant account. Payments of other accounts are not looked up. */
  readonly merchantSecrets?: Readonly<Record<string, string>>;
  /** Longer answers are not read. @default 65536 */
  readonly maxBodyBytes?: number;
}

type ResolvedHttpPaymentOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError with every invalid option, without secrets. */
function resolveHttpPaymentOptions(options: HttpPaymentOptions): ResolvedHttpPaymentOptions {
  const parsed = parseOptions('HTTP payment provider', schema, options, ({ secret: own, merchantSecrets }) => {
    const hasSecret = own !== undefined || Object.keys(merchantSecrets).length > 0;
    return hasSecret ? [] : ['secret: give a secret, or merchantSecrets by merchant account'];
  });
  return Object.freeze({ ...parsed, baseUrl: parsed.baseUrl.replace(/\/+$/, '') });
}

const paid = z.object({
  status: z.literal('PAID'),
  /** Minor units as digits; 18 digits fit into PostgreSQL's bigint. */
  amount: z.string().regex(/^[1-9]\d{0,17}$/),
  currency: z.string().regex(/^[A-Z]{3}$/),
  paidAt: z.iso.datetime(),
  transactionId: z.string().min(1).max(128),
});

const notFound = z.object({ status: z.literal('NOT_FOUND') });

/** The pairs of HTTP status and body that are recognized. Everything else is UNKNOWN. */
const queryAnswers = {
  200: z.discriminatedUnion('status', [
    z.object({ status: z.enum(['OPEN', 'PROCESSING', 'AUTHORIZED', 'CLOSED', 'REFUNDED']) }),
    paid,
  ]),
  404: notFound,
};

const closeAnswers = {
  200: z.object({ status: z.enum(['CLOSED', 'ALREADY_CLOSED']) }),
  409: z.object({ status: z.enum(['PAID', 'IN_PROGRESS']) }),
  404: notFound,
};

const refundAnswers = {
  200: z.discriminatedUnion('status', [
    z.object({ status: z.literal('REFUNDED'), refundId: z.string().min(1).max(128) }),
    z.object({ status: z.literal('PENDING') }),
  ]),
  409: z.object({ status: z.literal('REJECTED'), reason: z.string().min(1).max(256) }),
  404: notFound,
};

function toQueryOutcome(answer: VerifiedAnswer): QueryOutcome {
  const body = recognize(queryAnswers, answer);
  if (!body) return unrecognized(answer);
  if (body.status === 'NOT_FOUND') return { type: 'NOT_FOUND', providerNow: answer.now, evidence: answer.evidence };
  if (body.status !== 'PAID') return { type: body.status, evidence: answer.evidence };
  const { amount, currency, paidAt, transactionId } = body;
  return {
    type: 'PAID',
    amount: BigInt(amount),
    currency,
    paidAt: new Date(paidAt),
    transactionId,
    evidence: answer.evidence,
  };
}

function toCloseOutcome(answer: VerifiedAnswer): CloseOutcome {
  const body = recognize(closeAnswers, answer);
  if (!body) return unrecognized(answer);
  if (body.status === 'NOT_FOUND') return { type: 'NOT_FOUND', providerNow: answer.now, evidence: answer.evidence };
  return { type: body.status, evidence: answer.evidence };
}

function toRefundOutcome(answer: VerifiedAnswer): RefundOutcome {
  const body = recognize(refundAnswers, answer);
  if (!body) return unrecognized(answer);
  const { evidence } = answer;
  switch (body.status) {
    case 'REFUNDED':
      return { type: 'REFUNDED', refundId: body.refundId, evidence };
    case 'PENDING':
      return { type: 'PENDING', evidence };
    case 'REJECTED':
      return { type: 'REJECTED', reason: body.reason, evidence };
    case 'NOT_FOUND':
      return { type: 'REJECTED', reason: 'the provider has no such payment', evidence };
  }
}

function recognize<S extends z.ZodType>(
  table: Readonly<Record<number, S>>,
  answer: VerifiedAnswer,
): z.output<S> | undefined {
  return table[answer.httpStatus]?.safeParse(answer.body).data;
}

function unrecognized({ httpStatus, body, evidence }: VerifiedAnswer): UnknownOutcome {
  const reason = `answer is not recognized: HTTP status ${httpStatus}, payment status ${JSON.stringify(body.status)}`;
  return unknown(reason, { evidence });
}

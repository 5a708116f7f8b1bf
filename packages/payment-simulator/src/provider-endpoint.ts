import { z } from 'zod';
import { httpSignature } from './http-signature';
import { type MerchantSecrets } from './merchant-secrets';
import { paymentNotificationPost } from './payment-notification-post';
import { type PaymentEvent } from './payment-hooks';
import { type NotificationPost, type ProtocolContext, type SimulatedProtocol } from './protocol';
import { jsonReply, type Reply, type SimulatorRequest } from './reply';
import { parseJson } from './parse-json';
import { pathSegments } from './path-segments';
import { signedReply } from './signed-reply';
import { type SimulatedPayment } from './simulated-payment';
import { type Operation } from './simulator-input';

/** `provider` of the payments that HttpPaymentProvider asks about. */
export const OWN_PROVIDER = 'simulator';

type Answer = Readonly<Record<string, unknown>> & { readonly status: string };

/** HTTP status of every payment status that is not simply 200. */
const HTTP_STATUS: Readonly<Record<string, number>> = { NOT_FOUND: 404, IN_PROGRESS: 409, REJECTED: 409 };

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET ': 'query',
  'POST close': 'close',
  'POST refunds': 'refund',
};

/** Older and newer requests are rejected, as the protocol says. */
const MAX_SKEW_SECONDS = 300;

const refundBody = z.object({
  refundNumber: z.string().min(1).max(64),
  amount: z.string().regex(/^[1-9]\d{0,17}$/),
  currency: z.string(),
  reason: z.string().max(80),
  transactionId: z.string().optional(),
});

/** The provider's side of the protocol that HttpPaymentProvider speaks. */
export class ProviderEndpoint implements SimulatedProtocol {
  readonly provider = OWN_PROVIDER;
  /** It does not try again. */
  readonly retryDelaysMs = [];

  constructor(
    private readonly context: ProtocolContext,
    private readonly secrets: MerchantSecrets,
    /** `provider` in notifications: what the shop calls this one. */
    private readonly shownName: string,
  ) {}

  async answer(request: SimulatorRequest): Promise<Reply> {
    const [, reference = '', action = '', ...more] = pathSegments(request.path);
    const operation = OPERATIONS[`${request.method} ${action}`];
    if (operation === undefined || more.length > 0) {
      return jsonReply(404, { error: `there is nothing at ${request.method} ${request.path}` });
    }
    const merchantAccount = request.query.get('merchantAccount');
    const secret = this.secrets.of(merchantAccount);
    if (secret === undefined || !this.isSigned(secret, request)) return jsonReply(401, { error: 'bad signature' });
    const found = this.context.ledger.find(OWN_PROVIDER, reference);
    const payment = (found?.payment.terms.merchantAccount ?? null) === merchantAccount ? found?.payment : undefined;
    const performed = await this.context.perform(operation, found, () => this.act(operation, payment, request.body));
    if (performed.type === 'reply') return performed.reply;
    const { fault } = performed;
    if (fault?.fault === 'rate-limited') return jsonReply(429, { error: 'scripted' });
    const answer: Answer = performed.type === 'done' ? performed.value : { status: 'NOT_FOUND' };
    const httpStatus = operation === 'close' && answer.status === 'PAID' ? 409 : (HTTP_STATUS[answer.status] ?? 200);
    const nonce = String(request.headers['x-nonce']);
    return signedReply(
      { request, secret, httpStatus, fault, nowMs: this.context.clock.now() },
      { ...answer, reference, merchantAccount, nonce },
    );
  }

  notification(payment: SimulatedPayment, event: PaymentEvent): NotificationPost | undefined {
    if (event !== 'paid' || !payment.terms.notify) return undefined;
    const secret = this.secrets.of(payment.terms.merchantAccount ?? null) ?? '';
    const about = { provider: this.shownName, url: new URL(payment.terms.notify.url), secret };
    return paymentNotificationPost(payment, about, this.context.clock.now());
  }

  isAcknowledged(status: number): boolean {
    return status >= 200 && status < 300;
  }

  private isSigned(secret: string, { method, path, headers, body }: SimulatorRequest): boolean {
    const { 'x-timestamp': timestamp, 'x-nonce': nonce, 'x-signature': signature } = headers;
    if (typeof timestamp !== 'string' || !/^\d{1,12}$/.test(timestamp) || typeof nonce !== 'string') return false;
    const skewSeconds = Math.abs(Number(timestamp) - this.context.clock.now() / 1_000);
    if (skewSeconds > MAX_SKEW_SECONDS) return false;
    return httpSignature(secret, [timestamp, `${method} ${path}`, nonce], body) === signature;
  }

  /** The effect on the money, at this instant. */
  private act(operation: Operation, payment: SimulatedPayment | undefined, body: Uint8Array): Answer {
    const now = this.context.clock.now();
    if (!payment) return { status: 'NOT_FOUND' };
    if (operation === 'refund') return refund(payment, now, body);
    if (operation === 'close') return { status: payment.close(now) };
    // Before the query: a buyer who pays right after it must not show in its answer.
    const { paidAmount: amount, paidCurrency: currency, paidAt, transactionId } = payment.entry(now);
    const status = payment.query(now);
    return status === 'PAID' ? { status, ...{ amount, currency, paidAt, transactionId } } : { status };
  }
}

function refund(payment: SimulatedPayment, now: number, body: Uint8Array): Answer {
  const asked = refundBody.safeParse(parseJson(body)).data;
  if (!asked) return { status: 'REJECTED', reason: 'the body is not as agreed' };
  const { paidCurrency, transactionId } = payment.entry(now);
  if (asked.transactionId !== undefined && transactionId !== asked.transactionId) {
    return { status: 'REJECTED', reason: `it has no payment ${asked.transactionId}` };
  }
  if (paidCurrency !== null && paidCurrency !== asked.currency) {
    return { status: 'REJECTED', reason: `it was paid in ${paidCurrency}` };
  }
  const result = payment.refund(now, { number: asked.refundNumber, amount: BigInt(asked.amount) });
  const entry = payment.entry(now).refunds.find(({ number }) => number === asked.refundNumber);
  if (result === 'rejected') return { status: 'REJECTED', reason: entry?.reason ?? 'the number has another amount' };
  return result === 'pending' ? { status: 'PENDING' } : { status: 'REFUNDED', refundId: entry?.refundId };
}

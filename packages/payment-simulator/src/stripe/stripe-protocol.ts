import { type PaymentEvent } from '../payment-hooks';
import { type LedgerPayment } from '../payment-ledger';
import { type NotificationPost, type ProtocolContext, type SimulatedProtocol } from '../protocol';
import { type Reply, type SimulatorRequest } from '../reply';
import { type SimulatedPayment } from '../simulated-payment';
import { type Operation } from '../simulator-input';
import { stripeEvent } from './stripe-event';
import { StripeIdempotency, type Work } from './stripe-idempotency';
import { type StripeSimulatedMerchant, type StripeSimulatedMerchants } from './stripe-merchants';
import { referenceOfIntent } from './stripe-objects';
import { type StripeForm, StripePayments } from './stripe-payments';
import { missing, stripeError, type StripeResult, toReply } from './stripe-result';
import { spoiled } from './stripe-spoil';

type Effect = (payment: SimulatedPayment, form: StripeForm, now: number) => StripeResult;

/** A request whose sender is known. */
interface StripeCall {
  readonly account: string;
  readonly method: string;
  /** Of the path, without `v1`. */
  readonly segments: readonly string[];
  /** Of the query string or of the body. */
  readonly form: StripeForm;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The side of Stripe: intents, Checkout Sessions and refunds under `/stripe/v1`, and webhooks. */
export class StripeProtocol implements SimulatedProtocol {
  readonly provider = 'stripe';
  /** Longer and longer, for three days. */
  readonly retryDelaysMs = [
    ...[5, 30].map((minutes) => minutes * MINUTE_MS),
    ...[2, 5, 10, 12, 12, 12, 12, 6].map((hours) => hours * HOUR_MS),
  ];
  private readonly payments: StripePayments;
  private readonly idempotency = new StripeIdempotency();

  constructor(
    private readonly context: ProtocolContext,
    private readonly merchants: StripeSimulatedMerchants,
  ) {
    this.payments = new StripePayments(this.provider, context.ledger);
  }

  async answer(request: SimulatorRequest): Promise<Reply> {
    const now = this.context.clock.now();
    const account = this.authenticate(request);
    if (account === undefined) return toReply(stripeError(401, { message: 'Invalid API Key provided' }), now);
    const call = readCall(request, account);
    const key = request.headers['idempotency-key'];
    if (request.method !== 'POST' || typeof key !== 'string') return (await this.work(call)).reply;
    const parameters = `${request.path} ${call.form.toString()}`;
    return this.idempotency.once(`${account}/${key}`, parameters, now, () => this.work(call));
  }

  notification(payment: SimulatedPayment, event: PaymentEvent): NotificationPost | undefined {
    const account = this.accountOf(payment);
    const merchant = Object.hasOwn(this.merchants, account) ? this.merchants[account] : undefined;
    return merchant && stripeEvent(payment, event, merchant, this.context.clock.now());
  }

  isAcknowledged(status: number): boolean {
    return status >= 200 && status < 300;
  }

  private work(call: StripeCall): Promise<Work> {
    const { payments } = this;
    const { room, id = '', action = '' } = locate(call.segments);
    const now = this.context.clock.now();
    switch ([call.method, room, id && 'id', action].filter(Boolean).join(' ')) {
      case 'POST payment_intents':
        return this.plain(payments.createIntent(call.form, call.account, now));
      case 'POST checkout/sessions':
        return this.plain(payments.createSession(call.form, call.account, now));
      case 'GET payment_intents id':
        return this.perform('query', call, referenceOfIntent(id), (...args) => payments.retrieveIntent(...args));
      case 'GET checkout/sessions id':
        return this.perform('query', call, id, (...args) => payments.retrieveSession(...args));
      case 'POST payment_intents id cancel':
        return this.perform('close', call, referenceOfIntent(id), (...args) => payments.cancelIntent(...args));
      case 'POST checkout/sessions id expire':
        return this.perform('close', call, id, (...args) => payments.expireSession(...args));
      case 'POST refunds':
        return this.perform('refund', call, intentIn(call), (...args) => payments.createRefund(...args));
      case 'GET refunds':
        return this.perform('query', call, intentIn(call), (...args) => payments.listRefunds(...args));
      default:
        return this.plain(stripeError(404, { message: `Unrecognized request URL (${call.method}: ${room})` }));
    }
  }

  private async plain(result: StripeResult): Promise<Work> {
    return { result, reply: toReply(result, this.context.clock.now()) };
  }

  private async perform(operation: Operation, call: StripeCall, reference: string, effect: Effect): Promise<Work> {
    const found = this.find(reference, call.account);
    const { clock } = this.context;
    let result: StripeResult | undefined;
    const performed = await this.context.perform(operation, found, () => {
      result = found ? effect(found.payment, call.form, clock.now()) : missing('payment', reference);
      return result;
    });
    // The result is kept under the idempotency key even if the shop never gets it.
    if (performed.type === 'reply') return { result: result ?? failureIn(performed.reply), reply: performed.reply };
    if (performed.type === 'done') return { result, reply: spoiled(performed.value, performed.fault, clock.now()) };
    const refusal = performed.fault.fault === 'not-found' ? missing('payment', reference) : tooMany();
    return { result: undefined, reply: toReply(refusal, clock.now()) };
  }

  /** The payment, if it is one of the merchant who asks. */
  private find(reference: string, account: string): LedgerPayment | undefined {
    return this.context.ledger.find(this.provider, reference, (payment) => this.accountOf(payment) === account);
  }

  private accountOf({ terms }: SimulatedPayment): string {
    return terms.merchantAccount ?? Object.keys(this.merchants)[0] ?? '';
  }

  private authenticate({ headers }: SimulatorRequest): string | undefined {
    const [, key] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
    const isSender = ({ secretKey, stripeAccount }: StripeSimulatedMerchant): boolean =>
      secretKey === key && stripeAccount === headers['stripe-account'];
    return Object.entries(this.merchants).find(([, merchant]) => isSender(merchant))?.[0];
  }
}

function readCall({ method, path, body, query }: SimulatorRequest, account: string): StripeCall {
  const segments = path.replace(/\?.*$/s, '').split('/').slice(2).map(decodeURIComponent);
  const form = method === 'GET' ? query : new URLSearchParams(Buffer.from(body).toString('utf8'));
  return { account, method, segments, form };
}

/** Room, id and action of a path; Checkout Sessions live one level deeper. */
function locate([first = '', ...rest]: readonly string[]): { room: string; id?: string; action?: string } {
  const room = first === 'checkout' ? `checkout/${rest.shift() ?? ''}` : first;
  const [id, action] = rest;
  return { room, ...(id === undefined ? {} : { id }), ...(action === undefined ? {} : { action }) };
}

function intentIn({ form }: StripeCall): string {
  return referenceOfIntent(form.get('payment_intent') ?? '');
}

/** A scripted 500 is a result like any other, which Stripe keeps. */
function failureIn(reply: Reply): StripeResult | undefined {
  if (reply.type !== 'answer' || reply.status !== 500) return undefined;
  return { status: 500, body: JSON.parse(reply.body) as StripeResult['body'] };
}

function tooMany(): StripeResult {
  return stripeError(429, { code: 'rate_limit', message: 'Too many requests hit the API too quickly.' });
}

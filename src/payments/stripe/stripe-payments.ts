import {
  type CloseOutcome,
  type QueryOutcome,
  type NotFoundOutcome,
  type RefundOutcome,
  type UnknownOutcome,
  type RefundRequest,
  closeOutcomeOf,
  unknown,
} from '../payment-provider';
import {
  type IdempotencyKeys,
  refusedBy,
  type StripeAccount,
  toMissing,
  type StripeRefusal,
  type StripeReply,
} from './stripe-connection';
import {
  toIntentOutcome,
  toSessionOutcome,
  recognize,
  intentObject,
  sessionObject,
  type ExpectedRefund,
  REFUND_NUMBER,
  toRefundOutcome,
  type Found,
  unrecognized,
  type Intent,
  type Refund,
  refundList,
  refundObject,
} from './stripe-objects';

/** Stored results that one call skips, for example those from before a restart. */
const MAX_REPLAYS = 5;

/** Closes the payment attempts of one merchant. Never throws. */
export class StripeClosing {
  constructor(
    private readonly account: StripeAccount,
    private readonly keys: IdempotencyKeys,
  ) {}

  /** Cancels an intent. If it is being authorized at this moment, it may lose its hold, but never money. */
  async cancelIntent(id: string, signal: AbortSignal): Promise<CloseOutcome> {
    const reply = await this.withFreshKey(id, (idempotencyKey) =>
      this.account.connection.call(signal, (stripe) =>
        stripe.paymentIntents.cancel(
          id,
          { cancellation_reason: 'abandoned', expand: ['latest_charge'] },
          { idempotencyKey },
        ),
      ),
    );
    if (reply.type === 'FAILED') return reply.outcome;
    if (reply.type === 'REFUSED') return this.afterRefusal(reply, () => this.account.queryIntent(id, signal));
    const found = recognize(intentObject, reply.body, { id, livemode: this.account.livemode });
    return found.type === 'FOUND' ? closedNow(toIntentOutcome(found.object)) : found;
  }

  /** Expires a Checkout Session. Stripe expires only open sessions. */
  async expireSession(id: string, signal: AbortSignal): Promise<CloseOutcome> {
    const reply = await this.withFreshKey(id, (idempotencyKey) =>
      this.account.connection.call(signal, (stripe) =>
        stripe.checkout.sessions.expire(id, { expand: ['payment_intent.latest_charge'] }, { idempotencyKey }),
      ),
    );
    if (reply.type === 'FAILED') return reply.outcome;
    if (reply.type === 'REFUSED') return this.afterRefusal(reply, () => this.account.querySession(id, signal));
    const found = recognize(sessionObject, reply.body, { id, livemode: this.account.livemode });
    return found.type === 'FOUND' ? closedNow(toSessionOutcome(found.object)) : found;
  }

  /** Calls with the first key for which Stripe does not replay a stored refusal or failure. */
  private async withFreshKey(id: string, ask: (key: string) => Promise<StripeReply>): Promise<StripeReply> {
    const subject = `close:${id}`;
    for (let replays = 0; ; replays += 1) {
      const reply = await ask(this.keys.current(subject));
      if (reply.type !== 'FAILED' || reply.isStored) this.keys.advance(subject);
      if (reply.type === 'ANSWERED') return reply;
      if (!reply.isReplayed || replays === MAX_REPLAYS) return reply;
    }
  }

  /** A refusal means that the state is not the expected one, so the state is queried. */
  private async afterRefusal(refusal: StripeRefusal, query: () => Promise<QueryOutcome>): Promise<CloseOutcome> {
    const missing = toMissing(refusal);
    if (missing.type === 'NOT_FOUND') return missing;
    return closeOutcomeOf(await query(), stillOpen(refusal));
  }
}

/** Maps the answer to a successful close. The state in it counts, not the HTTP status. */
function closedNow(state: QueryOutcome): CloseOutcome {
  if (state.type === 'CLOSED') return { ...state, type: 'CLOSED' };
  return closeOutcomeOf(state, 'Stripe accepted the close, but the payment is still open');
}

/** Stripe refuses to cancel an open intent only if a Checkout Session owns it. */
function stillOpen({ code, message }: StripeRefusal): string {
  const hint = /checkout/i.test(message) ? 'register the session id (cs_…), which is the only way to close it' : '';
  return `Stripe did not close the payment: ${code || 'no code'}: ${message}${hint && ` (${hint})`}`;
}

const PAGE_SIZE = 100;

/** Refusals that the same request always meets. Others may be our fault or temporary, so they are UNKNOWN. */
const FINAL_REFUSALS = new Set([
  'amount_too_large',
  'balance_insufficient',
  'charge_already_refunded',
  'charge_disputed',
  'charge_not_refundable',
  'insufficient_funds',
  'refund_disputed_payment',
]);

/** Refunds payments of one merchant, once per refund number. Never throws. */
export class StripeRefunds {
  constructor(
    private readonly account: StripeAccount,
    private readonly keys: IdempotencyKeys,
  ) {}

  /** Looks for an existing refund first: idempotency keys live for 24 h, and a refund may be repeated after days. */
  async refund(request: RefundRequest, subject: 'intent' | 'session', signal: AbortSignal): Promise<RefundOutcome> {
    const intent = await this.paidIntent(request, subject, signal);
    if ('type' in intent) return intent;
    const { refundNumber, amount, currency } = request;
    const expected = { refundNumber, amount, currency, paymentIntent: intent.id };
    return this.make(request, expected, signal);
  }

  /**
   * Calls with the first key for which Stripe does not replay a stored refusal or failure: another process may have
   * used earlier keys, and an old refusal may no longer hold. Looks before each try, because a stored 500 may have made
   * the refund all the same.
   */
  private async make(request: RefundRequest, expected: ExpectedRefund, signal: AbortSignal): Promise<RefundOutcome> {
    const keySubject = `refund:${expected.refundNumber}`;
    for (let replays = 0; replays <= MAX_REPLAYS; replays += 1) {
      const found = await this.find(expected, signal);
      if (found) return found;
      const reply = await this.create(request, expected.paymentIntent, this.keys.current(keySubject), signal);
      if (reply.type === 'ANSWERED') {
        const made = recognizeRefund(reply.body);
        return made.type === 'FOUND' ? toRefundOutcome(made.object, expected) : made;
      }
      if (!reply.isReplayed)
        return reply.type === 'FAILED' ? reply.outcome : this.afterRefusal(reply, expected, signal);
      this.keys.advance(keySubject);
    }
    return unknown('Stripe repeats stored refusals of this refund; the next try uses another idempotency key');
  }

  /** The intent that took the money: the one that is known, otherwise the attempt's own, or that of its session. */
  private async paidIntent(
    { attempt, currency, amount, transactionId }: RefundRequest,
    subject: 'intent' | 'session',
    signal: AbortSignal,
  ): Promise<Intent | UnknownOutcome> {
    const isKnown = subject === 'session' && transactionId?.startsWith('pi_') === true;
    const reference = isKnown ? transactionId : attempt.reference;
    const intent =
      subject === 'intent' || isKnown
        ? await this.account.findIntent(reference, signal)
        : await this.behind(reference, signal);
    if (intent.type === 'NOT_FOUND') return nothingToRefund(`Stripe has no ${reference}`);
    if (intent.type === 'UNKNOWN') return intent;
    // Stripe refunds in the intent's currency and takes none, so an amount in another one would be wrong.
    if (intent.object.currency !== currency) return nothingToRefund(`it was paid in ${intent.object.currency}`);
    if (amount > intent.object.amount_received) {
      return nothingToRefund(`Stripe received only ${intent.object.amount_received}`);
    }
    return intent.object;
  }

  private async behind(
    session: string,
    signal: AbortSignal,
  ): Promise<Found<Intent> | NotFoundOutcome | UnknownOutcome> {
    const found = await this.account.findSession(session, signal);
    if (found.type !== 'FOUND') return found;
    const { payment_intent: intent } = found.object;
    if (typeof intent === 'object' && intent !== null) return { type: 'FOUND', object: intent };
    return nothingToRefund('the checkout session has no payment intent');
  }

  private create(
    request: RefundRequest,
    paymentIntent: string,
    idempotencyKey: string,
    signal: AbortSignal,
  ): Promise<StripeReply> {
    const { refundNumber, amount, reason } = request;
    // Exact, because it is at most amount_received, which is a safe integer.
    const params = {
      payment_intent: paymentIntent,
      amount: Number(amount),
      metadata: { [REFUND_NUMBER]: refundNumber, reason },
    };
    return this.account.connection.call(signal, (stripe) => stripe.refunds.create(params, { idempotencyKey }));
  }

  private async find(expected: ExpectedRefund, signal: AbortSignal): Promise<RefundOutcome | undefined> {
    const { paymentIntent: payment_intent, refundNumber } = expected;
    const reply = await this.account.connection.call(signal, (stripe) =>
      stripe.refunds.list({ payment_intent, limit: PAGE_SIZE }),
    );
    if (reply.type === 'FAILED') return reply.outcome;
    if (reply.type === 'REFUSED') return refusedBy(reply);
    const parsed = refundList.safeParse(reply.body);
    if (!parsed.success) return unrecognized(parsed.error);
    const ours = parsed.data.data.find(({ metadata }) => metadata?.[REFUND_NUMBER] === refundNumber);
    if (ours) return toRefundOutcome(ours, expected);
    if (!parsed.data.has_more) return undefined;
    return unknown(`the payment has more than ${PAGE_SIZE} refunds; look for this one in the Stripe Dashboard`);
  }

  private async afterRefusal(
    refusal: StripeRefusal,
    expected: ExpectedRefund,
    signal: AbortSignal,
  ): Promise<RefundOutcome> {
    const { code, message, status } = refusal;
    const evidence = { status, code };
    if (!FINAL_REFUSALS.has(code)) return refusedBy(refusal, evidence);
    // A concurrent call with our number may have made it.
    const found = code === 'charge_already_refunded' ? await this.find(expected, signal) : undefined;
    return found ?? { type: 'REJECTED', reason: `Stripe refused the refund: ${code}: ${message}`, evidence };
  }
}

function nothingToRefund(why: string): UnknownOutcome {
  return unknown(`nothing was refunded: ${why}`);
}

function recognizeRefund(body: unknown): Found<Refund> | UnknownOutcome {
  const parsed = refundObject.safeParse(body);
  return parsed.success ? { type: 'FOUND', object: parsed.data } : unrecognized(parsed.error);
}

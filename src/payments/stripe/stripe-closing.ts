import { assertNever } from '../../errors';
import { type CloseOutcome, type QueryOutcome } from '../payment-provider';
import {
  type IdempotencyKeys,
  type StripeAccount,
  toMissing,
  type StripeRefusal,
  type StripeReply,
} from './stripe-connection';
import { toIntentOutcome, toSessionOutcome, recognise, intentObject, sessionObject } from './stripe-objects';

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
    const found = recognise(intentObject, reply.body, { id, livemode: this.account.livemode });
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
    const found = recognise(sessionObject, reply.body, { id, livemode: this.account.livemode });
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
    const state = await query();
    // Stripe refuses to cancel an open intent only if a Checkout Session owns it.
    if (state.type === 'OPEN') return stillOpen(refusal, state);
    return toCloseOutcome(state);
  }
}

/** Maps the answer to a successful close. The state in it counts, not the HTTP status. */
function closedNow(state: QueryOutcome): CloseOutcome {
  return state.type === 'CLOSED' ? { ...state, type: 'CLOSED' } : toCloseOutcome(state);
}

function toCloseOutcome(state: QueryOutcome): CloseOutcome {
  const evidence = state.evidence === undefined ? {} : { evidence: state.evidence };
  switch (state.type) {
    case 'CLOSED':
    case 'REFUNDED':
      return { type: 'ALREADY_CLOSED', ...evidence };
    case 'PAID':
      return { type: 'PAID', ...evidence };
    case 'PROCESSING':
    case 'AUTHORIZED':
      return { type: 'IN_PROGRESS', ...evidence };
    case 'OPEN':
      return { type: 'UNKNOWN', reason: 'Stripe accepted the close, but the payment is still open', ...evidence };
    case 'NOT_FOUND':
    case 'UNKNOWN':
      return state;
    default:
      return assertNever(state);
  }
}

function stillOpen({ code, message }: StripeRefusal, state: QueryOutcome): CloseOutcome {
  const hint = /checkout/i.test(message) ? 'register the session id (cs_…), which is the only way to close it' : '';
  const reason = `Stripe did not close the payment: ${code || 'no code'}: ${message}${hint && ` (${hint})`}`;
  return { type: 'UNKNOWN', reason, ...(state.evidence === undefined ? {} : { evidence: state.evidence }) };
}

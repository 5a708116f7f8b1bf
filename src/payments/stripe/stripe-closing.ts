import { assertNever } from '../../errors';
import { type CloseOutcome, type QueryOutcome } from '../payment-outcome';
import { type IdempotencyKeys } from './idempotency-keys';
import { toIntentOutcome } from './map-intent';
import { toSessionOutcome } from './map-session';
import { recognise } from './recognise';
import { type StripeAccount, toMissing } from './stripe-account';
import { intentObject, sessionObject } from './stripe-objects';
import { type StripeRefusal, type StripeReply } from './stripe-reply';

/** Old results that one call steps over, for example of the process before a restart. */
const MAX_REPLAYS = 5;

/** Takes care that one merchant's attempts can take no money any more. Never throws. */
export class StripeClosing {
  constructor(
    private readonly account: StripeAccount,
    private readonly keys: IdempotencyKeys,
  ) {}

  /** Cancels an intent. One that is being authorised at this moment may lose its hold, never money. */
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

  /** Expires a Checkout Session, which Stripe does only to open ones. */
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

  /** Asks with the first key that brings no stored refusal or failure back. */
  private async withFreshKey(id: string, ask: (key: string) => Promise<StripeReply>): Promise<StripeReply> {
    const subject = `close:${id}`;
    for (let replays = 0; ; replays += 1) {
      const reply = await ask(this.keys.current(subject));
      if (reply.type !== 'FAILED' || reply.isStored) this.keys.advance(subject);
      if (reply.type === 'ANSWERED') return reply;
      if (!reply.isReplayed || replays === MAX_REPLAYS) return reply;
    }
  }

  /** Refused means that the state is another one than was thought, so the state is asked for. */
  private async afterRefusal(refusal: StripeRefusal, query: () => Promise<QueryOutcome>): Promise<CloseOutcome> {
    const missing = toMissing(refusal);
    if (missing.type === 'NOT_FOUND') return missing;
    const state = await query();
    // Nothing else keeps a cancellable intent from being cancelled than that a Checkout Session owns it.
    if (state.type === 'OPEN') return stillOpen(refusal, state);
    return toCloseOutcome(state);
  }
}

/** What Stripe's answer to a successful close means: the state in it counts, not that there was an answer. */
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
      return { type: 'UNKNOWN', reason: 'Stripe took the close, but the payment is still open', ...evidence };
    case 'NOT_FOUND':
    case 'UNKNOWN':
      return state;
    default:
      return assertNever(state);
  }
}

function stillOpen({ code, message }: StripeRefusal, state: QueryOutcome): CloseOutcome {
  const hint = /checkout/i.test(message) ? 'register the session id (cs_…), as only sessions can be closed' : '';
  const reason = `Stripe did not close: ${code || 'no code'}: ${message}${hint && ` (${hint})`}`;
  return { type: 'UNKNOWN', reason, ...(state.evidence === undefined ? {} : { evidence: state.evidence }) };
}

import { type NotFoundOutcome, type QueryOutcome, type UnknownOutcome } from '../payment-outcome';
import { toIntentOutcome } from './map-intent';
import { toSessionOutcome } from './map-session';
import { type Found, recognise } from './recognise';
import { StripeConnection } from './stripe-connection';
import { type Intent, intentObject, type Session, sessionObject } from './stripe-objects';
import { type ResolvedStripeMerchant, type ResolvedStripeOptions } from './stripe-options';
import { type StripeRefusal } from './stripe-reply';

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
    return recognise(intentObject, reply.body, { id, livemode: this.livemode });
  }

  async findSession(id: string, signal: AbortSignal): Promise<Found<Session> | NotFoundOutcome | UnknownOutcome> {
    const reply = await this.connection.call(signal, (stripe) =>
      stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent.latest_charge'] }),
    );
    if (reply.type === 'FAILED') return reply.outcome;
    if (reply.type === 'REFUSED') return toMissing(reply);
    return recognise(sessionObject, reply.body, { id, livemode: this.livemode });
  }
}

/** NOT_FOUND if Stripe says so. Otherwise UNKNOWN with Stripe's message. */
export function toMissing({ status, code, message, now }: StripeRefusal): NotFoundOutcome | UnknownOutcome {
  // "a similar object exists in live mode, but a test mode key was used": the object exists, but the key is wrong.
  const isElsewhere = /similar object exists/i.test(message);
  if (status !== 404 || code !== 'resource_missing' || isElsewhere) {
    return { type: 'UNKNOWN', reason: `Stripe refused with ${status} ${code}: ${message}` };
  }
  const evidence = { status, code };
  return now ? { type: 'NOT_FOUND', providerNow: now, evidence } : { type: 'NOT_FOUND', evidence };
}

import Stripe from 'stripe';
import { type Clock } from '../../clock';
import {
  type ResilienceOptions,
  type PaymentAttemptRef,
  type NotificationReader,
  type CloseOutcome,
  type QueryOutcome,
  type RefundOutcome,
  type UnknownOutcome,
  type PaymentProvider,
  type RefundRequest,
  type Notification,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
  ignored,
  rejected,
  unknown,
} from '../payment-provider';
import { MerchantAccounts } from '../payment-providers';
import { IdempotencyKeys, StripeAccount } from './stripe-connection';
import { StripeClosing, StripeRefunds } from './stripe-payments';
import {
  type ResolvedStripeOptions,
  resolveStripeOptions,
  type StripeOptions,
  type ResolvedStripeMerchant,
} from './stripe-options';
import { toNotification, eventObject, type StripeEvent } from './stripe-objects';

interface Desk {
  readonly account: StripeAccount;
  readonly closing: StripeClosing;
  readonly refunds: StripeRefunds;
}

/**
 * Stripe payments through the `stripe` package. An attempt's reference is the id of a PaymentIntent (`pi_…`) or, with
 * Checkout, of the Checkout Session (`cs_…`). Amounts are in Stripe's smallest unit, which is the minor unit of
 * ISO 4217 except for a few currencies (see docs/stripe.md). Stripe's answers are not signed: TLS and the secret key
 * protect them. Never throws. One request takes at most `timeoutMs`.
 */
export class StripeProvider implements PaymentProvider {
  readonly name: string;
  readonly resilienceDefaults: ResilienceOptions = STRIPE_RESILIENCE_DEFAULTS;
  readonly refundsInPart = true;
  readonly notifications: NotificationReader | undefined;
  private readonly desks: MerchantAccounts<Desk>;

  /** @throws InvalidOptionsError with every invalid option. */
  constructor(options: StripeOptions, clock: Clock) {
    const resolved = resolveStripeOptions(options);
    this.name = resolved.name;
    this.desks = new MerchantAccounts(openDesks(resolved));
    const merchants = Object.entries(resolved.merchants);
    const isTold = merchants.some(([, { webhookSecrets }]) => webhookSecrets.length > 0);
    this.notifications = isTold ? new StripeWebhooks(merchants, clock) : undefined;
  }

  get defaultAccount(): string | null {
    return this.desks.defaultAccount;
  }

  hasAccount(account: string): boolean {
    return this.desks.has(account);
  }

  async query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome> {
    const desk = this.deskOf(attempt);
    if ('type' in desk) return desk;
    const { reference } = attempt;
    const subject = subjectOf(attempt);
    if (subject === 'intent') return desk.account.queryIntent(reference, signal);
    return subject === 'session' ? desk.account.querySession(reference, signal) : subject;
  }

  async close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome> {
    const desk = this.deskOf(attempt);
    if ('type' in desk) return desk;
    const { reference } = attempt;
    const subject = subjectOf(attempt);
    if (subject === 'intent') return desk.closing.cancelIntent(reference, signal);
    return subject === 'session' ? desk.closing.expireSession(reference, signal) : subject;
  }

  async refund(request: RefundRequest, signal: AbortSignal): Promise<RefundOutcome> {
    const desk = this.deskOf(request.attempt);
    if ('type' in desk) return desk;
    const subject = subjectOf(request.attempt);
    return typeof subject === 'string' ? desk.refunds.refund(request, subject, signal) : subject;
  }

  private deskOf({ merchantAccount }: PaymentAttemptRef): Desk | UnknownOutcome {
    const desk = this.desks.of(merchantAccount);
    return desk ?? unknown(`no Stripe merchant is configured for merchant account "${merchantAccount ?? ''}"`);
  }
}

function openDesks(options: ResolvedStripeOptions): Record<string, Desk> {
  const opened = Object.entries(options.merchants).map(([name, merchant]): [string, Desk] => {
    const account = new StripeAccount(merchant, options);
    const keys = new IdempotencyKeys();
    const desk = { account, closing: new StripeClosing(account, keys), refunds: new StripeRefunds(account, keys) };
    return [name, desk];
  });
  return Object.fromEntries(opened);
}

/** How far the signed timestamp may differ from our clock. */
const TOLERANCE_SECONDS = 300;

/** Maximum header length in characters. Stripe sends at most two signatures; each is compared for each merchant. */
const MAX_HEADER = 1_024;

/** Stripe redelivers for 3 days unless the answer is 2xx. */
const REPLIES: Readonly<Record<NotificationVerdict, NotificationReply>> = {
  accepted: { status: 200, contentType: 'application/json', body: '{"received":true}' },
  later: { status: 500, contentType: 'application/json', body: '{"received":false}' },
  rejected: { status: 400, contentType: 'application/json', body: '{"error":"not verified"}' },
};

type NamedMerchant = readonly [account: string, merchant: ResolvedStripeMerchant];

/** Reads Stripe's webhooks, which have a `Stripe-Signature` header. The secret that fits identifies the merchant. */
class StripeWebhooks implements NotificationReader {
  constructor(
    private readonly merchants: readonly NamedMerchant[],
    private readonly clock: Clock,
  ) {}

  async read({ headers, rawBody }: NotificationRequest): Promise<Notification> {
    const header = headers['stripe-signature'];
    if (typeof header !== 'string') return rejected('there is no Stripe-Signature header');
    if (header.length > MAX_HEADER) {
      return rejected(`its Stripe-Signature header is longer than ${MAX_HEADER} characters`);
    }
    if (this.isFromTheFuture(header)) return rejected("its timestamp is ahead of this machine's clock");
    const checked = this.merchants.map((named) => ({
      named,
      ...this.verify(rawBody, header, named[1].webhookSecrets),
    }));
    const signed = checked.filter(({ event }) => event !== undefined);
    const signers = signed.map(({ named }) => named);
    if (signed[0]) return interpret(signed[0].event, signers);
    return rejected(checked.find(({ problem }) => problem !== undefined)?.problem ?? 'it is empty');
  }

  reply(verdict: NotificationVerdict): NotificationReply {
    return REPLIES[verdict];
  }

  private verify(
    rawBody: Buffer,
    header: string,
    secrets: readonly string[],
  ): { readonly event?: unknown; readonly problem?: string } {
    let problem: string | undefined;
    for (const secret of secrets) {
      try {
        const now = this.clock.now();
        return { event: Stripe.webhooks.constructEvent(rawBody, header, secret, TOLERANCE_SECONDS, undefined, now) };
      } catch (error) {
        // The first line says what is wrong. The others are advice for writing an endpoint.
        problem = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
      }
    }
    return problem === undefined ? {} : { problem };
  }

  /** stripe-node rejects only timestamps that are too old. */
  private isFromTheFuture(header: string): boolean {
    const timestamp = header.split(',').findLast((part) => part.startsWith('t='));
    const seconds = Number(timestamp?.slice(2) ?? Number.NaN);
    return seconds - this.clock.now() / 1_000 > TOLERANCE_SECONDS;
  }
}

/** One endpoint of a platform serves all its connected accounts, so several merchants may share its secret. */
function interpret(body: unknown, signers: readonly NamedMerchant[]): Notification {
  const parsed = eventObject.safeParse(body);
  if (!parsed.success) return rejected('it is signed, but is not a Stripe event');
  const event = parsed.data;
  const signer = signers.find(([, { stripeAccount }]) => stripeAccount === (event.account ?? undefined));
  if (!signer) return ignored(`it is about account "${event.account ?? ''}", which no merchant has`);
  const [merchantAccount, { livemode }] = signer;
  if (livemode !== undefined && livemode !== event.livemode) {
    return ignored(`it is from ${event.livemode ? 'live' : 'test'} mode, which is not the merchant's`);
  }
  return named(event, merchantAccount);
}

function named(event: StripeEvent, merchantAccount: string): Notification {
  const notification = toNotification(event);
  return 'reference' in notification ? { ...notification, merchantAccount } : notification;
}

/**
 * By default, Stripe allows 25 calls per second to each endpoint, and in a sandbox 25 in total. With 20 per second and
 * a burst of 5, no second has more than 25.
 */
export const STRIPE_RESILIENCE_DEFAULTS: ResilienceOptions = { ratePerSecond: 20, burst: 5 };

/** References that Stripe accepts. The pattern prevents a reference from changing the path of the URL. */
const REFERENCE = /^(pi|cs)_[A-Za-z0-9_]{1,200}$/;

function subjectOf({ reference }: PaymentAttemptRef): 'intent' | 'session' | UnknownOutcome {
  const kind = REFERENCE.exec(reference)?.[1];
  if (kind !== undefined) return kind === 'pi' ? 'intent' : 'session';
  const shown = JSON.stringify(reference.slice(0, 64));
  return unknown(`reference ${shown} is neither a Stripe payment intent (pi_…) nor a checkout session (cs_…)`);
}

import Stripe from 'stripe';
import { type Clock } from '../../clock';
import {
  type Notification,
  type NotificationReader,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
} from '../payment-notification';
import { toNotification } from './map-event';
import { eventObject, type StripeEvent } from './stripe-objects';
import { type ResolvedStripeMerchant } from './stripe-options';

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

/** A merchant with its account name. */
type NamedMerchant = readonly [account: string, merchant: ResolvedStripeMerchant];

/** Reads Stripe's webhooks, which have a `Stripe-Signature` header. The secret that fits identifies the merchant. */
export class StripeWebhooks implements NotificationReader {
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
    if (signed[0])
      return interpret(
        signed[0].event,
        signed.map(({ named }) => named),
      );
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

function rejected(reason: string): Notification {
  return { type: 'REJECTED', reason };
}

function ignored(reason: string): Notification {
  return { type: 'IGNORED', reason };
}

import { type Clock } from '../../clock';
import { type ResilienceOptions } from '../resilience/resilience-options';
import { MerchantAccounts } from '../merchant-accounts';
import { type PaymentAttemptRef } from '../payment-attempt-ref';
import { type NotificationReader } from '../payment-notification';
import { type CloseOutcome, type QueryOutcome, type RefundOutcome, type UnknownOutcome } from '../payment-outcome';
import { type PaymentProvider } from '../payment-provider';
import { type RefundRequest } from '../refund-request';
import { IdempotencyKeys } from './idempotency-keys';
import { StripeAccount } from './stripe-account';
import { StripeClosing } from './stripe-closing';
import { STRIPE_RESILIENCE_DEFAULTS } from './stripe-resilience-defaults';
import { type ResolvedStripeOptions, resolveStripeOptions, type StripeOptions } from './stripe-options';
import { StripeRefunds } from './stripe-refunds';
import { subjectOf } from './stripe-subject';
import { StripeWebhooks } from './stripe-webhooks';

/** What the calls of one merchant go through. */
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
    const account = merchantAccount ?? '';
    const reason = `no Stripe merchant is configured for merchant account "${account}"`;
    return this.desks.of(merchantAccount) ?? { type: 'UNKNOWN', reason };
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

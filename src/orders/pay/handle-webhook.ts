import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { assertNever } from '../../errors';
import { ownTransaction } from '../../database';
import {
  type Notification,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
  type PaymentObservers,
  type PaymentProviders,
} from '../../payments';
import { type TimeoutScheduler } from '../../timeouts';
import { type MarkPaid } from './mark-paid';
import { type OrderStore } from '../sql/order-store';
import { refundNumber } from '../unmatched/refund';
import { ORDER_LATE_WATCH, PAYMENT_REFUND, paymentTimeout, reconcileTimeout } from '../order-timeouts';
import { type PaymentAttempt, type PaymentNames } from '../payment-attempt';
import { paymentFound } from './reported-payment';
import { accountOf } from './with-account';

interface Dependencies {
  readonly providers: PaymentProviders;
  readonly observers: PaymentObservers;
  readonly store: OrderStore;
  readonly dataSource: DataSource;
  readonly markPaid: MarkPaid;
  readonly scheduler: TimeoutScheduler;
}

type Paid = Extract<Notification, { type: 'PAID' }>;

/** What providers post: verified, booked like any reported payment, and answered in the provider's own format. */
export class HandleWebhook {
  private readonly logger = new Logger(HandleWebhook.name);

  constructor(private readonly deps: Dependencies) {}

  /**
   * The answer for the provider; undefined: no provider of that name posts notifications. Nothing is acknowledged
   * before it is committed; what could not be written down is asked for again.
   */
  async execute(providerName: string, request: NotificationRequest): Promise<NotificationReply | undefined> {
    const reader = this.deps.providers.get(providerName)?.notifications;
    if (!reader) return undefined;
    return reader.reply(await this.verdict(providerName, () => reader.read(request)));
  }

  private async verdict(provider: string, read: () => Promise<Notification>): Promise<NotificationVerdict> {
    try {
      const notification = await read();
      if (notification.type === 'REJECTED') {
        this.deps.observers.untrusted(provider, 'notification', notification.reason);
        return 'rejected';
      }
      await this.take(provider, notification);
      return 'accepted';
    } catch (error) {
      this.logger.error(
        `a notification of ${provider} could not be written down, and is asked for again`,
        error instanceof Error ? error.stack : String(error),
      );
      return 'later';
    }
  }

  private async take(provider: string, notification: Exclude<Notification, { type: 'REJECTED' }>): Promise<void> {
    switch (notification.type) {
      case 'IGNORED':
        return;
      case 'PAID':
        return this.book(provider, notification);
      case 'NEWS':
        return this.look(this.namesOf(provider, notification));
      default:
        return assertNever(notification);
    }
  }

  private async book(provider: string, paid: Paid): Promise<void> {
    const names = { ...this.namesOf(provider, paid), transactionId: paid.transactionId };
    if (await this.confirm(names, paid)) return;
    await this.keep(names, paid);
    // Registered while it was written down: an order without a deadline would never look for it.
    await this.confirm(names, paid);
  }

  /** False: nobody has registered it. */
  private async confirm(names: PaymentNames, paid: Paid): Promise<boolean> {
    const attempt = await this.find(names);
    if (!attempt) return false;
    const account = attempt.merchantAccount;
    const payment = paymentFound(attempt.orderId, { ...names, merchantAccount: account }, paid);
    await this.deps.markPaid.confirm(payment, { cause: 'notify', actor: names.provider }, { account });
    return true;
  }

  /** A process without the provider may have registered the attempt, and did not know the default account. */
  private async find(names: PaymentNames): Promise<PaymentAttempt | undefined> {
    const { providers, store } = this.deps;
    const found = await store.findAttempt(names);
    const isDefault = names.merchantAccount === (providers.get(names.provider)?.defaultAccount ?? null);
    if (found || names.merchantAccount === null || !isDefault) return found;
    return store.findAttempt({ ...names, merchantAccount: null });
  }

  /** Money of an attempt that nobody has registered; its order may come and adopt it. */
  private keep(names: PaymentNames, paid: Paid): Promise<void> {
    const { amount, currency, evidence, paidAt } = paid;
    // In the form of every other report, as its order may come and adopt it.
    const report = { ...evidence, merchantAccount: names.merchantAccount, paidAt: paidAt.toISOString() };
    const money = { ...names, amount, currency, source: 'provider', orderId: null, evidence: report } as const;
    return ownTransaction(this.deps.dataSource, async (tx) => {
      const { now } = await this.deps.store.lock(tx, [], 'wait');
      const why = { reason: 'unknown-order', handling: 'kept', now } as const;
      await this.deps.store.keepUnexpected(tx, [{ ...money, ...why }]);
    });
  }

  /**
   * The state of a payment has changed: its provider is asked, as soon as there is time and again until it answers. Not
   * here, as providers want their own answer within seconds; so the question is written down before that.
   */
  private async look(names: PaymentNames): Promise<void> {
    const { scheduler } = this.deps;
    const attempt = await this.find(names);
    if (!attempt) return;
    const { orderId } = attempt;
    await scheduler.scheduleAndCommit([{ ...reconcileTimeout(orderId), afterMs: 0 }]);
    // These ask for more than a payment, and are due already or not: a closing under way, a refund that waits.
    const refund = { kind: PAYMENT_REFUND, key: refundNumber(attempt) };
    scheduler.wake([paymentTimeout(orderId), { kind: ORDER_LATE_WATCH, key: orderId }, refund], 'passive');
  }

  private namesOf(
    provider: string,
    { reference, merchantAccount }: { readonly reference: string; readonly merchantAccount?: string },
  ): PaymentNames {
    const account = accountOf({ provider, merchantAccount }, this.deps.providers);
    return { provider, reference, merchantAccount: account, transactionId: null };
  }
}

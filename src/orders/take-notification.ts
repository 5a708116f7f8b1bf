import { ownTransaction } from '../events';
import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { assertNever } from '../errors';
import {
  type Notification,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
  type PaymentObservers,
  type PaymentProviders,
} from '../payments';
import { type TimeoutScheduler } from '../timeouts';
import { type MarkPaid } from './mark-paid';
import { type OrderStore, type UnexpectedReason } from './order-store';
import { refundNumber } from './late/refund';
import { ORDER_LATE_WATCH, PAYMENT_REFUND, paymentTimeout } from './order-timeouts';
import { isOfOtherMerchant, type PaymentAttempt } from './payment-attempt';

interface Plan {
  readonly providers: PaymentProviders;
  readonly observers: PaymentObservers;
  readonly store: OrderStore;
  readonly dataSource: DataSource;
  readonly markPaid: MarkPaid;
  readonly scheduler: TimeoutScheduler;
}

type Paid = Extract<Notification, { type: 'PAID' }>;

/** What providers post: verified, booked like any reported payment, and answered in the provider's own format. */
export class TakeNotification {
  private readonly logger = new Logger(TakeNotification.name);

  constructor(private readonly plan: Plan) {}

  /**
   * The answer for the provider; undefined: no provider of that name posts notifications. Nothing is acknowledged
   * before it is committed; what could not be written down is asked for again.
   */
  async execute(providerName: string, request: NotificationRequest): Promise<NotificationReply | undefined> {
    const reader = this.plan.providers.get(providerName)?.notifications;
    if (!reader) return undefined;
    return reader.reply(await this.verdict(providerName, () => reader.read(request)));
  }

  private async verdict(provider: string, read: () => Promise<Notification>): Promise<NotificationVerdict> {
    try {
      const notification = await read();
      if (notification.type === 'REJECTED') {
        this.plan.observers.untrusted(provider, 'notification', notification.reason);
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
      case 'NEWS': {
        const attempt = await this.plan.store.findAttempt({ provider, reference: notification.reference });
        if (attempt) this.look(attempt);
        return;
      }
      default:
        return assertNever(notification);
    }
  }

  private async book(provider: string, paid: Paid): Promise<void> {
    const { reference, amount, currency, paidAt, transactionId, merchantAccount } = paid;
    const attempt = await this.plan.store.findAttempt({ provider, reference });
    if (!attempt) return this.keep(provider, paid, null, 'unknown-order');
    // Another of our merchants was paid than the one that this attempt was made for.
    if (this.isOfOther(attempt, paid)) return this.keep(provider, paid, attempt.orderId, 'attempt-mismatch');
    const money = { provider, reference, amount, currency, paidAt, transactionId, merchantAccount };
    const payment = { ...money, orderId: attempt.orderId };
    await this.plan.markPaid.execute(
      { ...payment, evidence: { ...paid.evidence } },
      { cause: 'notify', actor: provider },
    );
  }

  /** An attempt without an account, where accounts must be named, is nobody's. */
  private isOfOther(attempt: PaymentAttempt, { merchantAccount }: Paid): boolean {
    const isNobodys = this.plan.providers.get(attempt.provider)?.defaultAccount === null;
    return attempt.merchantAccount === null ? isNobodys : isOfOtherMerchant(attempt, merchantAccount);
  }

  private keep(provider: string, paid: Paid, orderId: string | null, reason: UnexpectedReason): Promise<void> {
    const { reference, amount, currency, evidence, transactionId, merchantAccount } = paid;
    // In the form of every other report, as its order may come and adopt it.
    const report = { ...evidence, transactionId, merchantAccount, paidAt: paid.paidAt.toISOString() };
    const money = { provider, reference, amount, currency, orderId, reason, handling: 'kept' as const };
    return ownTransaction(this.plan.dataSource, async (tx) => {
      const { now } = await this.plan.store.lock(tx, [], 'wait');
      await this.plan.store.keepUnexpected(tx, [{ ...money, now, evidence: report }]);
    });
  }

  /** Not waited for: the providers want their answer within seconds, and asking may take longer. */
  private look(attempt: PaymentAttempt): void {
    const { provider, reference, orderId } = attempt;
    const refund = { kind: PAYMENT_REFUND, key: refundNumber({ provider, reference }) };
    this.plan.scheduler.wake([paymentTimeout(orderId), { kind: ORDER_LATE_WATCH, key: orderId }, refund], 'passive');
  }
}

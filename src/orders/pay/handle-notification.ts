import { Logger, Injectable } from '@nestjs/common';
import { assertNever } from '../../errors';
import { Database, isContention, isDatabaseUnavailable, storableText } from '../../database';
import {
  type Notification,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
  PaymentObservers,
  PaymentProviders,
} from '../../payments';
import { TimeoutScheduler } from '../../timeouts';
import { readPayment, storableMoney } from '../input';
import { MarkPaid } from './mark-paid';
import { type HandledPayment } from '../model/decide-claim';
import { OrderStore } from '../sql/order-store';
import { RefundRows } from '../unmatched/refunds';
import { type UnmatchedMoney } from '../model/unmatched-money';
import { accountOf } from '../model/new-order';
import { paymentTimeout, refundTimeout, reconcileTimeout, ORDER_LATE_WATCH } from '../model/order-timeouts';
import { accountOfAttempt, isOtherPayment, isSameRow, type PaymentAttempt, type PaymentNames } from '../model/order';
import { paymentFound } from '../model/reported-payment';

type Paid = Extract<Notification, { type: 'PAID' }>;
type Chargeback = Extract<Notification, { type: 'CHARGEBACK' }>;
type Named = Pick<Chargeback, 'reference' | 'merchantAccount' | 'transactionId'>;

/**
 * Processes the notifications of providers: verifies them, books them like any reported payment, and answers in the
 * provider's format.
 */
@Injectable()
export class HandleNotification {
  private readonly logger = new Logger(HandleNotification.name);

  constructor(
    private readonly providers: PaymentProviders,
    private readonly observers: PaymentObservers,
    private readonly store: OrderStore,
    private readonly database: Database,
    private readonly markPaid: MarkPaid,
    private readonly scheduler: TimeoutScheduler,
    private readonly refunds: RefundRows,
  ) {}

  /**
   * Returns the response for the provider. Undefined: no provider with that name sends notifications. A notification is
   * acknowledged only after its commit; if it cannot be stored, the provider is asked to send it again.
   */
  async execute(providerName: string, request: NotificationRequest): Promise<NotificationReply | undefined> {
    const reader = this.providers.get(providerName)?.notifications;
    if (!reader) return undefined;
    return reader.reply(await this.verdict(providerName, () => reader.read(request)));
  }

  private async verdict(provider: string, read: () => Promise<Notification>): Promise<NotificationVerdict> {
    try {
      const notification = await read();
      if (notification.type === 'REJECTED') {
        this.observers.untrusted(provider, 'notification', notification.reason);
        return 'rejected';
      }
      await this.process(provider, notification);
      return 'accepted';
    } catch (error) {
      this.logger.error(
        `a notification of ${provider} could not be stored; the provider is asked to send it again`,
        error instanceof Error ? error.stack : String(error),
      );
      return 'later';
    }
  }

  private async process(provider: string, notification: Exclude<Notification, { type: 'REJECTED' }>): Promise<void> {
    switch (notification.type) {
      case 'IGNORED':
        return;
      case 'PAID':
        return this.book(provider, notification);
      case 'STATUS_CHANGED':
        return this.look(this.namesOf(provider, notification));
      case 'CHARGEBACK':
        return this.tell(this.namesOf(provider, notification), notification);
      default:
        return assertNever(notification);
    }
  }

  private async book(provider: string, stated: Paid): Promise<void> {
    const names = this.namesOf(provider, stated);
    const read = readPayment(stated);
    if ('problem' in read) await this.refuse(names, stated, read.problem);
    else await this.take(names, read.payment);
  }

  /**
   * What is not money is never booked. To ask for it again would bring the same, so a person is told, and the provider
   * is asked about the attempt.
   */
  private async refuse(names: PaymentNames, stated: Paid, problem: string): Promise<void> {
    this.logger.error(`a notification of ${names.provider} about ${names.reference} states no valid money: ${problem}`);
    const found = await this.store.findAttempt(names);
    const attempt = found && isLinkedByReport(found, names) ? undefined : found;
    const evidence = { ...stated.evidence, problem };
    const why = { reason: 'invalid-amount', orderId: attempt?.orderId ?? null } as const;
    await this.keepForPerson({ ...names, ...why, ...storableMoney({ ...stated, evidence }, false) });
    if (attempt) await this.lookUp(attempt);
  }

  private async lookUp({ orderId }: PaymentAttempt): Promise<void> {
    await this.scheduler.schedule([{ ...reconcileTimeout(orderId), afterMs: 0 }]);
  }

  private async take(key: PaymentNames, paid: Paid): Promise<void> {
    const names = { ...key, transactionId: paid.transactionId };
    if (await this.confirm(names, paid)) return;
    await this.keep(names, paid);
    // The attempt may have been registered while the payment was stored. An order without a deadline would never look
    // for it.
    if (await this.confirm(names, paid)) return;
    // Only the attempt's own look-up tells whether that report is true.
    const claim = await this.store.findAttempt(names);
    if (claim) await this.lookUp(claim);
  }

  /** Returns false if the attempt is not registered, or if only a report says that it is this payment. */
  private async confirm(names: PaymentNames, paid: Paid): Promise<boolean> {
    const attempt = await this.store.findAttempt(names);
    if (!attempt || isLinkedByReport(attempt, names)) return false;
    const account = names.merchantAccount ?? accountOfAttempt(attempt);
    const payment = paymentFound(attempt.orderId, { ...names, merchantAccount: account }, paid);
    try {
      await this.markPaid.confirm(payment, { cause: 'notify', actor: names.provider }, { account });
    } catch (error) {
      // A listener may throw until the provider gives up. The look-up fails then, too, and is parked.
      if (!isContention(error) && !isDatabaseUnavailable(error)) await this.lookUp(attempt);
      throw error;
    }
    return true;
  }

  /** Keeps money of an attempt that is not registered. Its order may adopt it later. */
  private keep(names: PaymentNames, paid: Paid): Promise<void> {
    const { amount, currency, evidence, paidAt } = paid;
    // Stored like every other report, because its order may adopt it later.
    const report = { ...evidence, merchantAccount: names.merchantAccount, paidAt: paidAt.toISOString() };
    return this.keepForPerson({ ...names, amount, currency, evidence: report, orderId: null, reason: 'unknown-order' });
  }

  /** Tells a person of a chargeback. The bank decides about the money, so the order keeps its status. */
  private async tell(names: PaymentNames, chargeback: Chargeback): Promise<void> {
    const found = await this.store.findAttempt(names);
    const attempt = found && isLinkedByReport(found, names) ? undefined : found;
    // It may be one that is told only later, and then has an attempt of that name.
    const own = attempt && isOtherPayment(attempt, names) ? names.transactionId : null;
    const { provider, reference, merchantAccount } = attempt ?? names;
    // Of what is only reported, the provider does not know the id.
    const { transactionId } = attempt?.paidSource === 'provider' && own === null ? attempt : names;
    const orderId = attempt?.orderId ?? null;
    const key = { provider, reference: own ?? reference, merchantAccount, transactionId, orderId };
    await this.keepForPerson({ ...key, ...storableMoney(chargeback), reason: 'chargeback' });
  }

  /** Keeps money for a person, in a transaction of its own. */
  private keepForPerson(money: Omit<UnmatchedMoney, 'handling' | 'source' | 'now'>): Promise<void> {
    const { store } = this;
    return this.database.transaction(async (tx) => {
      const { now } = await store.lock(tx, money.orderId === null ? [] : [money.orderId], 'wait');
      await store.keepUnmatched(tx, [{ ...money, handling: 'kept', source: 'provider', now }]);
    });
  }

  /**
   * The state of a payment has changed, so it is looked up at its provider as soon as possible, until the provider
   * answers. The look-up is scheduled and not made here, because providers expect their response within seconds.
   */
  private async look(names: PaymentNames): Promise<void> {
    const attempt = (await this.store.findAttempt(names)) ?? (await this.findRegisteredNow(names));
    if (!attempt) return this.tellOfRefund(names);
    // It was erased or purged meanwhile, or another order has it.
    if (!(await this.ask(attempt))) return this.look(names);
    // A closing in progress needs more than a payment, whether or not it is due.
    const { orderId } = attempt;
    this.scheduler.wake([paymentTimeout(orderId), { kind: ORDER_LATE_WATCH, key: orderId }], 'passive');
  }

  /** A registration that had begun before is waited for. An order without a deadline would never look for its payment. */
  private async findRegisteredNow(names: PaymentNames): Promise<PaymentAttempt | undefined> {
    await this.database.transaction((tx) => this.store.lockPayments(tx, [names]));
    return this.store.findAttempt(names);
  }

  /** Under the lock of the order, so that it is not forgotten before what must be asked is. False: it no longer has it. */
  private ask(attempt: PaymentAttempt): Promise<boolean> {
    const { scheduler, refunds, store } = this;
    const { orderId } = attempt;
    return this.database.transaction(async (tx) => {
      const { orders } = await store.lock(tx, [orderId], 'wait');
      if (!orders.get(orderId)?.attempts.some((one) => isSameRow(one, attempt))) return false;
      const known = await refunds.ofOrder(tx, orderId);
      const pending = await scheduler.lock(
        tx,
        known.map(({ number }) => refundTimeout(number)),
      );
      // A refund that is done, or is just confirmed, may have failed, which no other look-up would notice.
      const checks = known
        .filter(({ number, isConfirmed }) => isConfirmed || pending.some(({ key }) => key === number))
        .map(({ number }) => refundTimeout(number, true));
      const asked = [reconcileTimeout(orderId), ...checks].map((timeout) => ({ ...timeout, afterMs: 0 }));
      await scheduler.schedule(asked, { tx });
      return true;
    });
  }

  /**
   * The order of the payment was erased or purged after it was refunded. Its refund may have failed, and nothing is left
   * that the provider could be asked by, so a person looks there.
   */
  private async tellOfRefund(names: PaymentNames): Promise<void> {
    // Its attempt may have been registered without an account. To look in vain costs less than money that nobody sees.
    const unresolved = names.merchantAccount === null ? [] : [{ ...names, merchantAccount: null }];
    const { handled } = await this.store.samePayments(this.database.dataSource, [names, ...unresolved]);
    const refunded = refundedOf(handled);
    if (!refunded) return;
    const evidence = { says: 'the payment changed after its refund, and its order was erased or purged' };
    await this.keepForPerson({ ...names, ...refunded, reason: 'refund-failed', evidence });
  }

  private namesOf(provider: string, { reference, merchantAccount, transactionId }: Named): PaymentNames {
    const account = accountOf({ provider, merchantAccount }, this.providers);
    const own = transactionId === undefined ? null : storableText(String(transactionId));
    return { provider, reference: storableText(reference), merchantAccount: account, transactionId: own };
  }
}

/** Whether the payment is found only by a transaction id that a report gave to the attempt. Anyone may report any id. */
export function isLinkedByReport({ reference, paidSource }: PaymentAttempt, names: PaymentNames): boolean {
  return paidSource !== 'provider' && reference !== names.reference && reference !== names.transactionId;
}

/**
 * Pure: what was refunded of the payments under one name. The provider does not say which of several refunds has failed, so
 * it is the sum of those in one currency. If only a report had given the payment this name, it was refunded under another.
 */
export function refundedOf(
  found: readonly HandledPayment[],
): { readonly orderId: string | null; readonly amount: bigint; readonly currency: string } | undefined {
  const handled = found.filter(({ isUncertain }) => !isUncertain);
  const own = handled.filter(({ fate }) => fate === 'refunded');
  const named = own.length > 0 ? own : handled.map((one) => ({ ...one, amount: one.refunded }));
  const refunds = named.filter(({ amount }) => amount !== null);
  const refunded = [...new Map(refunds.map((one) => [one.payment, one])).values()];
  const { orderId = null, currency = null } = refunded[0] ?? {};
  if (currency === null) return undefined;
  const amounts = refunded.flatMap((one) => (one.currency === currency && one.amount !== null ? [one.amount] : []));
  return { orderId, currency, amount: amounts.reduce((sum, amount) => sum + amount, 0n) };
}

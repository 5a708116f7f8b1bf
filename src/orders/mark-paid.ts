import { type EntityManager } from 'typeorm';
import { assertNever } from '../errors';
import { type JsonObject } from '../events';
import { applyStep } from './apply-step';
import { draftAttempt } from './attempt-draft';
import { checkReportedPayment } from './check-new-order';
import { decidePayment, withPaid } from './decide-payment';
import { type LockedOrder } from './order';
import { type MinorUnits } from './new-order';
import { type LatePayments } from './late/late-payments';
import { type LateWatch } from './late/late-watch';
import { type OpenFile, type OrderDesk } from './order-desk';
import { type UnexpectedMoney, type UnexpectedReason } from './order-store';
import { allTimeouts, paymentTimeout } from './order-timeouts';
import { type OrderView } from './order-view';
import { canTakeMoney, isBooked, isSameAttempt, type PaymentAttempt } from './payment-attempt';
import { InsertAttempt } from './sql/insert-attempt';
import { transition } from './transition';
import { type ActionContext, BY_API } from './transition-cause';

/** A payment that somebody reports: the shop, a provider's notify, or a provider's answer. */
export interface ReportedPayment {
  readonly orderId: string;
  readonly provider: string;
  readonly reference: string;
  /** What was taken, minor units. */
  readonly amount: MinorUnits;
  readonly currency: string;
  readonly transactionId?: string | undefined;
  /** @default the database's now */
  readonly paidAt?: Date | undefined;
  readonly merchantAccount?: string | undefined;
  /** What the report is based on; kept in the history. JSON. */
  readonly evidence?: JsonObject | undefined;
}

/**
 * - `paid` · `already-paid`: the same payment had been booked before · `late`: the order was closed before; by policy it
 *   is revived, the money goes back, or it is kept · `surplus`: paid twice, by another attempt; it goes back or is kept
 * - `amount-mismatch`, `currency-mismatch`: booked on the attempt, but it does not pay the order
 * - `attempt-mismatch`: the attempt belongs to another order · `unknown-order`
 * Whatever is not `paid` or `already-paid` is noted in orphan_payment and reported as `order.payment_late`.
 */
export type MarkPaidResult =
  | {
      readonly outcome: 'paid' | 'already-paid' | Exclude<UnexpectedReason, 'unknown-order'>;
      readonly order: OrderView;
    }
  | { readonly outcome: 'unknown-order' };

/** Books a payment. No money that is reported here is ever dropped, whatever its order looks like. */
export class MarkPaid {
  private readonly insert: InsertAttempt;

  constructor(
    private readonly desk: OrderDesk,
    private readonly late: LatePayments,
    private readonly watch: LateWatch,
  ) {
    this.insert = new InsertAttempt(desk.schema);
  }

  /** @throws InvalidOrderError when the payment cannot be meant. */
  async execute(payment: ReportedPayment, by: ActionContext = BY_API, caller?: EntityManager): Promise<MarkPaidResult> {
    checkReportedPayment(payment);
    return this.desk.withOrder<MarkPaidResult>(
      payment.orderId,
      caller,
      (file) => this.book(file, payment, by),
      async (tx, now) => {
        await this.desk.store.keepUnexpected(tx, [unexpected(payment, 'unknown-order', by, now)]);
        return { outcome: 'unknown-order' };
      },
    );
  }

  private async book(file: OpenFile, payment: ReportedPayment, by: ActionContext): Promise<MarkPaidResult> {
    const { tx, order, now } = file;
    const paid = paidAttempt(file, payment);
    const known = order.attempts.find((attempt) => isSameAttempt(attempt, paid));
    const isOurs = (known && isBooked(known)) || (await this.insert.asPaid(tx, paid, evidenceOf(payment)));
    const outcome = isOurs ? await this.settle(file, paid, payment, by) : 'attempt-mismatch';
    if (outcome === 'amount-mismatch' || outcome === 'currency-mismatch') {
      const handling = this.late.handlingOfPart(order);
      await this.desk.store.keepUnexpected(tx, [{ ...unexpected(payment, outcome, by, now), handling }]);
    }
    // Booked with another amount before: one of the two reports is wrong, and a person has to find out which.
    if (outcome === 'attempt-mismatch' || (known && isBooked(known) && differs(known, payment))) {
      await this.desk.store.keepUnexpected(tx, [unexpected(payment, 'attempt-mismatch', by, now)]);
    }
    return { outcome, order: await this.desk.view(tx, order.id) };
  }

  private async settle(
    file: OpenFile,
    paid: PaymentAttempt,
    payment: ReportedPayment,
    by: ActionContext,
  ): Promise<Exclude<MarkPaidResult['outcome'], 'unknown-order'>> {
    const { tx, order, now } = file;
    const decision = decidePayment(order, paid);
    switch (decision.type) {
      case 'pay':
        await this.pay(file, withPaid(order, paid), payment, by);
        return 'paid';
      case 'insufficient':
        return decision.reason;
      case 'already-paid':
        return decision.type;
      case 'surplus':
      case 'late': {
        const known = order.attempts.some((attempt) => isSameAttempt(attempt, paid) && isBooked(attempt));
        await this.late.settle(known ? order : withPaid(order, paid), { tx, by, now });
        return decision.type;
      }
      default:
        return assertNever(decision);
    }
  }

  private async pay(
    { tx, order, now }: OpenFile,
    after: LockedOrder,
    payment: ReportedPayment,
    by: ActionContext,
  ): Promise<void> {
    const { scheduler, store } = this.desk;
    const stillOpen = after.attempts.some(canTakeMoney);
    // Attempts that are still open are closed by the pipeline, or the buyer could pay a second time.
    const [close, ...reminders] = allTimeouts(order);
    await scheduler.cancel(tx, stillOpen ? reminders : allTimeouts(order));
    if (stillOpen && close) await scheduler.schedule(tx, [{ ...paymentTimeout(order.id), afterMs: 0 }]);
    const step = transition(order, 'PAID', { by, now, reason: 'reported', evidence: evidenceOf(payment) });
    await applyStep(store, tx, step);
    const paid: LockedOrder = { ...after, status: 'PAID', version: order.version + 1 };
    await this.late.settle(paid, { tx, by, now });
    if (!stillOpen) await this.watch.begin(tx, [paid], now, by.traceparent);
  }
}

function differs({ paidAmount, paidCurrency }: PaymentAttempt, { amount, currency }: ReportedPayment): boolean {
  return paidAmount !== BigInt(amount) || paidCurrency !== currency;
}

function paidAttempt({ order, now }: OpenFile, payment: ReportedPayment): PaymentAttempt {
  const { amount, currency, paidAt = now, transactionId = null } = payment;
  const known = order.attempts.find((attempt) => isSameAttempt(attempt, payment));
  const attempt = known ?? draftAttempt(order, payment, now);
  const merchantAccount = attempt.merchantAccount ?? payment.merchantAccount ?? null;
  return {
    ...attempt,
    merchantAccount,
    status: 'PAID',
    paidAmount: BigInt(amount),
    paidCurrency: currency,
    paidAt,
    transactionId,
  };
}

function evidenceOf({ amount, paidAt, ...payment }: ReportedPayment): JsonObject {
  return { ...payment, amount: amount.toString(), ...(paidAt ? { paidAt: paidAt.toISOString() } : {}) };
}

function unexpected(
  payment: ReportedPayment,
  reason: UnexpectedReason,
  { traceparent }: ActionContext,
  now: Date,
): UnexpectedMoney {
  const { orderId, provider, reference, amount, currency } = payment;
  const money = { orderId, provider, reference, amount: BigInt(amount), currency };
  return { ...money, reason, handling: 'kept', evidence: evidenceOf(payment), now, traceparent };
}

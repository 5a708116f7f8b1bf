import { type EntityManager } from 'typeorm';
import { assertNever } from '../errors';
import { type JsonObject } from '../events';
import { draftAttempt } from './attempt-draft';
import { decidePayment, type PaymentDecision, withPaid } from './decide-payment';
import { type MinorUnits } from './new-order';
import { type OpenFile, type OrderDesk } from './order-desk';
import { type UnexpectedMoney, type UnexpectedReason } from './order-store';
import { allTimeouts, paymentTimeout } from './order-timeouts';
import { type OrderView } from './order-view';
import { canTakeMoney, isSameAttempt, type PaymentAttempt } from './payment-attempt';
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
 * - `paid` · `already-paid`: the same payment had been booked before · `late`: the order was closed before; the money
 *   is kept as an orphan payment, and the order stays as it is · `surplus`: paid twice, by another attempt
 * - `amount-mismatch`, `currency-mismatch`: booked on the attempt, but it does not pay the order
 * - `attempt-mismatch`: the attempt belongs to another order · `unknown-order`
 * Whatever is not `paid` or `already-paid` is kept in orphan_payment and reported as `order.payment_late`.
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

  constructor(private readonly desk: OrderDesk) {
    this.insert = new InsertAttempt(desk.schema);
  }

  execute(payment: ReportedPayment, by: ActionContext = BY_API, caller?: EntityManager): Promise<MarkPaidResult> {
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
    const isBooked = known?.status === 'PAID' || (await this.insert.asPaid(tx, paid, evidenceOf(payment)));
    const outcome = isBooked ? await this.settle(file, paid, payment, by) : 'attempt-mismatch';
    if (outcome !== 'paid' && outcome !== 'already-paid') {
      await this.desk.store.keepUnexpected(tx, [unexpected(payment, outcome, by, now)]);
    }
    return { outcome, order: await this.desk.view(tx, order.id) };
  }

  private async settle(
    file: OpenFile,
    paid: PaymentAttempt,
    payment: ReportedPayment,
    by: ActionContext,
  ): Promise<Exclude<MarkPaidResult['outcome'], 'unknown-order'>> {
    const decision = decidePayment(file.order, paid);
    switch (decision.type) {
      case 'pay':
        await this.pay(file, paid, decision, payment, by);
        return 'paid';
      case 'insufficient':
        return decision.reason;
      case 'already-paid':
      case 'surplus':
      case 'late':
        return decision.type;
      default:
        return assertNever(decision);
    }
  }

  private async pay(
    { tx, order, now }: OpenFile,
    paid: PaymentAttempt,
    { surplus }: Extract<PaymentDecision, { type: 'pay' }>,
    payment: ReportedPayment,
    by: ActionContext,
  ): Promise<void> {
    const { scheduler, store } = this.desk;
    const stillOpen = withPaid(order, paid).attempts.some(canTakeMoney);
    // Attempts that are still open are closed by the pipeline, or the buyer could pay a second time.
    const [close, ...reminders] = allTimeouts(order);
    await scheduler.cancel(tx, stillOpen ? reminders : allTimeouts(order));
    if (stillOpen && close) await scheduler.schedule(tx, [{ ...paymentTimeout(order.id), afterMs: 0 }]);
    const step = transition(order, 'PAID', { by, now, reason: 'reported', evidence: evidenceOf(payment) });
    const moved = await store.apply(tx, [step]);
    if (!moved.has(order.id)) throw new Error(`order ${order.id} changed under its lock`);
    await store.keepUnexpected(
      tx,
      surplus.map((attempt) => unexpected(toReport(attempt), 'surplus', by, now)),
    );
  }
}

function paidAttempt({ order, now }: OpenFile, payment: ReportedPayment): PaymentAttempt {
  const { amount, currency, paidAt = now, transactionId = null } = payment;
  const known = order.attempts.find((attempt) => isSameAttempt(attempt, payment));
  const attempt = known ?? draftAttempt(order, payment, now);
  return { ...attempt, status: 'PAID', paidAmount: BigInt(amount), paidCurrency: currency, paidAt, transactionId };
}

function toReport({ orderId, provider, reference, paidAmount, paidCurrency }: PaymentAttempt): ReportedPayment {
  return { orderId, provider, reference, amount: paidAmount ?? 0n, currency: paidCurrency ?? '' };
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
  return { ...money, reason, evidence: evidenceOf(payment), now, traceparent };
}

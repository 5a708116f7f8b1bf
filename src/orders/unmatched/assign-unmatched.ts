import { type PaymentProviders } from '../../payments';
import { checkUnmatched } from '../input/check-new-order';
import { bookMoney } from '../pay/book-money';
import { type MarkPaid, type MarkPaidResult } from '../pay/mark-paid';
import { moneyOf } from '../pay/money-of';
import { type LockedOrderContext, type OrderTransaction } from '../order-transaction';
import { type OrderView } from '../order-view';
import { AmendOrder } from '../sql/amend-order';
import { type OperatorOptions } from '../action-options';
import { type ActionContext } from '../transition-cause';
import { accountOf } from '../pay/with-account';
import { byOperator } from '../operator/by-operator';
import { type AssignmentRefusal, decideAssignment } from './decide-assignment';
import { evidenceOfUnmatched, namesOf, reportOf, type UnmatchedPayment } from './unmatched-payment';
import { type UnmatchedRows } from './unmatched-rows';

export interface UnmatchedAssignment {
  /** Id of the row in unmatched_payment. */
  readonly id: string;
  /** The order that was paid. */
  readonly orderId: string;
  readonly reason: string;
}

/** `booked`: the effect of the payment on the order, as a result of MarkPaid. */
export type AssignUnmatchedResult =
  | {
      readonly outcome: 'assigned';
      readonly booked: Exclude<MarkPaidResult['outcome'], 'unknown-order' | 'attempt-mismatch'>;
      readonly order: OrderView;
    }
  | { readonly outcome: 'already-assigned'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | { readonly outcome: 'rejected'; readonly code: 'UNMATCHED_PAYMENT_NOT_FOUND' }
  | ({ readonly outcome: 'rejected' } & AssignmentRefusal);

/**
 * Books an unmatched payment on the order that a person names. The usual rules apply: it pays the order, is late, or is
 * surplus. A report stays a report. Idempotent.
 */
export class AssignUnmatched {
  private readonly amend: AmendOrder;

  constructor(
    private readonly transaction: OrderTransaction,
    private readonly rows: UnmatchedRows,
    private readonly markPaid: MarkPaid,
    private readonly providers: Pick<PaymentProviders, 'get'>,
  ) {
    this.amend = new AmendOrder(transaction.schema);
  }

  /** @throws InvalidOrderError if the request is invalid. */
  execute(request: UnmatchedAssignment, { by, tx }: OperatorOptions = {}): Promise<AssignUnmatchedResult> {
    checkUnmatched('assignment', request);
    return this.transaction.withOrder<AssignUnmatchedResult>(
      request.orderId,
      tx,
      (locked) => this.decide(locked, request, byOperator(by)),
      () => ({ outcome: 'rejected', code: 'ORDER_NOT_FOUND' }),
    );
  }

  private async decide(
    locked: LockedOrderContext,
    { id, reason }: UnmatchedAssignment,
    by: ActionContext,
  ): Promise<AssignUnmatchedResult> {
    const { tx, order, now } = locked;
    const found = await this.rows.find(tx, id);
    // In the order of every booking: first the names of the payment, then its rows.
    if (found) await this.transaction.store.lockPayments(tx, [namesOf(found)]);
    const payment = await this.rows.lock(tx, id);
    if (!payment) return { outcome: 'rejected', code: 'UNMATCHED_PAYMENT_NOT_FOUND' };
    const report = reportOf(payment, order.id);
    const told = moneyOf(report, accountOf(report, this.providers), payment.source, now);
    const { money } = bookMoney(order, { ...told, isAssigned: true });
    const same = await this.transaction.store.samePayments(tx, [money]);
    const decision = decideAssignment(order, payment, money, same);
    if (decision.type === 'refuse') return { outcome: 'rejected', ...decision.refusal };
    if (decision.type === 'assign') return this.assign(locked, payment, { by, reason });
    return { outcome: 'already-assigned', order: await this.transaction.view(tx, order.id) };
  }

  private async assign(
    { tx, order }: LockedOrderContext,
    payment: UnmatchedPayment,
    why: { readonly by: ActionContext; readonly reason: string },
  ): Promise<AssignUnmatchedResult> {
    await this.rows.resolve(tx, payment.id, 'adopted', why);
    await this.amend.execute(tx, order, {}, { ...why, evidence: evidenceOfUnmatched(payment) });
    const { source } = payment;
    const result = await this.markPaid.assign(reportOf(payment, order.id), why.by, { source, tx });
    if (result.outcome === 'unknown-order' || result.outcome === 'attempt-mismatch') {
      throw new Error(`payment ${payment.reference} was booked on another order in the meantime; repeat the request`);
    }
    return { outcome: 'assigned', booked: result.outcome, order: result.order };
  }
}

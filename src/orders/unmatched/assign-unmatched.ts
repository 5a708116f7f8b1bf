import { type EntityManager } from 'typeorm';
import { type PaymentProviders } from '../../payments';
import { checkUnmatched } from '../input/check-new-order';
import { type MarkPaid, type MarkPaidResult } from '../pay/mark-paid';
import { moneyOf } from '../pay/money-of';
import { type OpenFile, type OrderTransaction } from '../order-transaction';
import { type OrderView } from '../order-view';
import { AmendOrder } from '../sql/amend-order';
import { type ActionContext, BY_API } from '../transition-cause';
import { accountOf } from '../pay/with-account';
import { byOperator } from '../operator/by-operator';
import { type AssignmentRefusal, decideAssignment } from './decide-assignment';
import { evidenceOfUnmatched, reportOf, type UnmatchedPayment } from './unmatched-payment';
import { type UnmatchedRows } from './unmatched-rows';

export interface UnmatchedAssignment {
  /** Of the row in orphan_payment. */
  readonly id: string;
  /** The order that was paid. */
  readonly orderId: string;
  readonly reason: string;
}

/** `booked`: what the payment does for the order, as MarkPaid says it. */
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
 * Books unmatched money on the order that a person names. It goes the way of every payment: it pays the order, is late, or
 * surplus, by the same rules. What was only reported stays a report. Idempotent.
 */
export class AssignUnmatched {
  private readonly amend: AmendOrder;

  constructor(
    private readonly desk: OrderTransaction,
    private readonly rows: UnmatchedRows,
    private readonly markPaid: MarkPaid,
    private readonly providers: Pick<PaymentProviders, 'get'>,
  ) {
    this.amend = new AmendOrder(desk.schema);
  }

  /** @throws InvalidOrderError when the request cannot be meant. */
  execute(
    request: UnmatchedAssignment,
    by: ActionContext = BY_API,
    caller?: EntityManager,
  ): Promise<AssignUnmatchedResult> {
    checkUnmatched('assignment', request);
    return this.desk.withOrder<AssignUnmatchedResult>(
      request.orderId,
      caller,
      (file) => this.decide(file, request, byOperator(by)),
      () => ({ outcome: 'rejected', code: 'ORDER_NOT_FOUND' }),
    );
  }

  private async decide(
    file: OpenFile,
    { id, reason }: UnmatchedAssignment,
    by: ActionContext,
  ): Promise<AssignUnmatchedResult> {
    const { tx, order, now } = file;
    const payment = await this.rows.lock(tx, id);
    if (!payment) return { outcome: 'rejected', code: 'UNMATCHED_PAYMENT_NOT_FOUND' };
    const report = reportOf(payment, order.id);
    const told = moneyOf(report, accountOf(report, this.providers), payment.source, now);
    const { attempts } = await this.desk.store.samePayments(tx, [told]);
    const decision = decideAssignment(order, payment, { ...told, isAssigned: true }, attempts);
    if (decision.type === 'refuse') return { outcome: 'rejected', ...decision.refusal };
    if (decision.type === 'assign') return this.assign(file, payment, { by, reason });
    return { outcome: 'already-assigned', order: await this.desk.view(tx, order.id) };
  }

  private async assign(
    { tx, order }: OpenFile,
    payment: UnmatchedPayment,
    why: { readonly by: ActionContext; readonly reason: string },
  ): Promise<AssignUnmatchedResult> {
    await this.rows.resolve(tx, payment.id, 'adopted', why);
    await this.amend.execute(tx, order, {}, { ...why, evidence: evidenceOfUnmatched(payment) });
    const { source } = payment;
    const result = await this.markPaid.assign(reportOf(payment, order.id), why.by, { source, caller: tx });
    if (result.outcome === 'unknown-order' || result.outcome === 'attempt-mismatch') {
      throw new Error(`payment ${payment.reference} was taken by another order meanwhile; repeat the request`);
    }
    return { outcome: 'assigned', booked: result.outcome, order: result.order };
  }
}

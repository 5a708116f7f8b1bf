import { type EntityManager } from 'typeorm';
import { checkUnmatched } from '../input/check-new-order';
import { type LockedOrder } from '../order';
import { type OrderTransaction } from '../order-transaction';
import { type UnmatchedHandling } from './unmatched-money';
import { runTransaction } from '../../database';
import { refundTimeout } from '../order-timeouts';
import { AmendOrder } from '../sql/amend-order';
import { type OperatorOptions } from '../action-options';
import { type ActionContext } from '../transition-cause';
import { byOperator } from '../operator/by-operator';
import { evidenceOfUnmatched, isOpen, type UnmatchedPayment } from './unmatched-payment';
import { RefundRows } from './refund-rows';
import { type UnmatchedRows } from './unmatched-rows';

export interface UnmatchedSettlement {
  /** Id of the row in unmatched_payment. */
  readonly id: string;
  /** What was done about it, for the history. */
  readonly reason: string;
}

export type SettleUnmatchedResult =
  | { readonly outcome: 'settled'; readonly payment: UnmatchedPayment }
  | { readonly outcome: 'rejected'; readonly code: 'UNMATCHED_PAYMENT_NOT_FOUND' }
  /** It no longer waits; see `handling`. */
  | {
      readonly outcome: 'rejected';
      readonly code: 'UNMATCHED_PAYMENT_HANDLED';
      readonly handling: UnmatchedHandling;
    };

/** Records that a person has handled unmatched money outside of this system. It moves no money. Idempotent. */
export class SettleUnmatched {
  private readonly amend: AmendOrder;
  private readonly refunds: RefundRows;

  constructor(
    private readonly transaction: OrderTransaction,
    private readonly rows: UnmatchedRows,
  ) {
    this.amend = new AmendOrder(transaction.schema);
    this.refunds = new RefundRows(transaction.dataSource, transaction.schema);
  }

  /** @throws InvalidOrderError if the request is invalid. */
  execute(request: UnmatchedSettlement, { by, tx: caller }: OperatorOptions = {}): Promise<SettleUnmatchedResult> {
    checkUnmatched('settlement', request);
    return runTransaction(this.transaction.dataSource, caller, async (tx) => {
      const order = await this.lockOrder(tx, request.id);
      const payment = await this.rows.lock(tx, request.id);
      if (!payment) return { outcome: 'rejected', code: 'UNMATCHED_PAYMENT_NOT_FOUND' };
      if (payment.handling === 'settled') return { outcome: 'settled', payment };
      if (!isOpen(payment)) {
        return { outcome: 'rejected', code: 'UNMATCHED_PAYMENT_HANDLED', handling: payment.handling };
      }
      return this.settle(tx, payment, order, { by: byOperator(by), reason: request.reason });
    });
  }

  /** Does not adopt its money, unlike other actions: the operator says that it is handled already. */
  private async lockOrder(tx: EntityManager, id: string): Promise<LockedOrder | undefined> {
    const orderId = (await this.rows.find(tx, id))?.orderId ?? undefined;
    const { orders } = await this.transaction.store.lock(tx, orderId === undefined ? [] : [orderId], 'wait');
    return orderId === undefined ? undefined : orders.get(orderId);
  }

  private async settle(
    tx: EntityManager,
    payment: UnmatchedPayment,
    order: LockedOrder | undefined,
    why: { readonly by: ActionContext; readonly reason: string },
  ): Promise<SettleUnmatchedResult> {
    await this.rows.resolve(tx, payment.id, 'settled', why);
    await this.endRefund(tx, payment.id, why.reason);
    if (order) await this.amend.execute(tx, order, {}, { ...why, evidence: evidenceOfUnmatched(payment) });
    return { outcome: 'settled', payment: (await this.rows.find(tx, payment.id)) ?? payment };
  }

  /** If the payment is that of a refund that failed, the person has paid it back, so nobody else may. */
  private async endRefund(tx: EntityManager, id: string, how: string): Promise<void> {
    const number = await this.refunds.payBack(tx, id, how);
    if (number !== undefined)
      await this.transaction.scheduler.schedule([{ ...refundTimeout(number), afterMs: 0 }], { tx });
  }
}

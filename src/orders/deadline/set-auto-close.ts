import { unmatchedFromAttempt } from '../unmatched/unmatched-from-attempt';
import { moneyReceived } from '../pay/money-received';
import { checkRequest } from '../input/check-new-order';
import { type LockedOrderContext, type OrderTransaction } from '../order-transaction';
import { deadlineTimeouts, paymentTimeout } from '../order-timeouts';
import { type OrderView } from '../order-view';
import { AmendOrder } from '../sql/amend-order';
import { type ActionOptions } from '../action-options';
import { type ActionContext, contextOf } from '../transition-cause';

/** Whether an order closes automatically. */
export interface AutoCloseChange {
  readonly orderId: string;
  readonly enabled: boolean;
  /** For the history. */
  readonly reason?: string | undefined;
}

export type SetAutoCloseResult =
  | { readonly outcome: 'set'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' | 'ORDER_NOT_PENDING' };

/** Turns auto-close off or on for one order. Turned on again, an overdue order closes immediately. */
export class SetAutoClose {
  private readonly amend: AmendOrder;

  constructor(private readonly transaction: OrderTransaction) {
    this.amend = new AmendOrder(transaction.schema);
  }

  /** @throws InvalidOrderError if the request is invalid. */
  async execute(request: AutoCloseChange, { by, tx }: ActionOptions = {}): Promise<SetAutoCloseResult> {
    checkRequest('autoClose', request);
    return this.transaction.withOrder<SetAutoCloseResult>(
      request.orderId,
      tx,
      (locked) => this.set(locked, request, contextOf(by)),
      () => ({ outcome: 'rejected', code: 'ORDER_NOT_FOUND' }),
    );
  }

  /** From now on, no deadline decides about the order or about a partial payment. */
  private async leaveToPerson({ tx, order, now }: LockedOrderContext, { traceparent }: ActionContext): Promise<void> {
    await this.transaction.scheduler.cancel([paymentTimeout(order.id)], { tx });
    const money = moneyReceived(order, order.attempts);
    if (money.type !== 'insufficient') return;
    const why = { reason: money.reason, handling: 'kept', now, traceparent } as const;
    const parts = order.attempts
      .filter(({ status }) => status === 'PAID')
      .map((part) => unmatchedFromAttempt(part, why));
    await this.transaction.store.keepUnmatched(tx, parts);
  }

  private async set(
    { tx, order, now }: LockedOrderContext,
    { enabled, reason = enabled ? 'auto-close on' : 'auto-close off' }: AutoCloseChange,
    by: ActionContext,
  ): Promise<SetAutoCloseResult> {
    if (order.status !== 'PENDING') return { outcome: 'rejected', code: 'ORDER_NOT_PENDING' };
    if (order.autoClose !== enabled) {
      const why = { by, reason, evidence: { autoClose: enabled } };
      const amended = await this.amend.execute(tx, order, { autoClose: enabled }, why);
      if (enabled) await this.transaction.scheduler.schedule(deadlineTimeouts(amended, now, by.traceparent), { tx });
      else await this.leaveToPerson({ tx, order, now }, by);
    }
    return { outcome: 'set', order: await this.transaction.view(tx, order.id) };
  }
}

import { Injectable } from '@nestjs/common';
import { applyStep, type LockedOrderContext, OrderTransaction } from '../sql/order-transaction';
import { checkRequest } from '../input/check-input';
import { NoteUnmatchedMoney } from '../unmatched/note-unmatched-money';
import { PaymentWatch } from '../unmatched/payment-watch';
import { isUndecided, type OrderStatus, type OrderView } from '../model/order';
import { allTimeouts, paymentTimeout } from '../model/order-timeouts';
import { transition, type ActionOptions, type ActionContext, contextOf } from '../model/transition';
import { type MoneyRefusal, refundsOfCancellation, refuseMoney } from '../model/decide-closing';

/** Which order to cancel, and why. */
export interface Cancellation {
  readonly orderId: string;
  /** For the history and the event. @default 'cancelled' */
  readonly reason?: string | undefined;
}

/**
 * - `cancelling`: attempts must be closed at their providers first, or money must be refunded. The order is CLOSING and
 *   becomes CANCELLED, or PAID if the buyer pays before that.
 * - `ORDER_HAS_MONEY`: the order has enough money, or a part that is not refunded automatically: only a report vouches
 *   for it, its attempt was not registered, another order counts on it, too, or the buyer's bank takes or took it back. Or
 *   confirmed money that names the order waits for a person. Nothing was changed.
 */
export type CancelOrderResult =
  | { readonly outcome: 'cancelled' | 'cancelling' | 'already-cancelled'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_CANCELLABLE'; readonly status: OrderStatus }
  | ({ readonly outcome: 'rejected' } & MoneyRefusal);

/** Cancels an order for the buyer or the shop. If it is paid in part, the part is refunded. */
@Injectable()
export class CancelOrder {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly watch: PaymentWatch,
    private readonly found: NoteUnmatchedMoney,
  ) {}

  /** @throws InvalidOrderError if the request is invalid. */
  async execute(request: Cancellation, { by, tx }: ActionOptions = {}): Promise<CancelOrderResult> {
    checkRequest('cancellation', request);
    const result = await this.transaction.withOrder<CancelOrderResult>(request.orderId, tx, (locked) =>
      this.cancel(locked, request.reason ?? 'cancelled', contextOf(by)),
    );
    // Inside a caller's transaction, nothing can be woken before its commit.
    if (result.outcome === 'cancelling' && !tx) this.transaction.scheduler.wake([paymentTimeout(request.orderId)]);
    return result;
  }

  private async cancel(locked: LockedOrderContext, reason: string, by: ActionContext): Promise<CancelOrderResult> {
    const { tx, order } = locked;
    const waiting = isUndecided(order.status) ? await this.transaction.store.contested.confirmedOf(tx, order.id) : [];
    if (waiting.length > 0 || (await this.needsPerson(locked)))
      return { outcome: 'rejected', ...refuseMoney(order, waiting) };
    switch (order.status) {
      case 'PENDING': {
        const isClear = order.attempts.every(({ status }) => status === 'CLOSED' || status === 'DUPLICATE');
        await (isClear ? this.end(locked, reason, by) : this.beginClosing(locked, reason, by));
        return { outcome: isClear ? 'cancelled' : 'cancelling', order: await this.transaction.view(tx, order.id) };
      }
      case 'CLOSING':
        if (order.closingReason !== 'cancelled') await this.callOff(locked, reason, by);
        return { outcome: 'cancelling', order: await this.transaction.view(tx, order.id) };
      case 'CANCELLED':
        return { outcome: 'already-cancelled', order: await this.transaction.view(tx, order.id) };
      default:
        return { outcome: 'rejected', code: 'ORDER_NOT_CANCELLABLE', status: order.status };
    }
  }

  /** Whether the order would be parked as CLOSING because of its money, or becomes PAID. */
  private async needsPerson({ tx, order }: LockedOrderContext): Promise<boolean> {
    if (!isUndecided(order.status)) return false;
    const returns = refundsOfCancellation(order);
    return !returns || (await this.found.unrefundable(tx, returns)).length > 0;
  }

  /** Its deadline had started the closing. A canceled order is not revived by a late payment. */
  private async callOff({ tx, order }: LockedOrderContext, reason: string, by: ActionContext): Promise<void> {
    const why = { by, reason, evidence: { closingReason: 'cancelled' } };
    await this.transaction.amend(tx, order, { closingReason: 'cancelled' }, why);
    // The closing may have been parked because of a part of the price, which is refunded now.
    await this.transaction.decideNow(tx, order.id);
  }

  private async end(locked: LockedOrderContext, reason: string, by: ActionContext): Promise<void> {
    await this.transaction.scheduler.cancel(allTimeouts(locked.order), { tx: locked.tx });
    // Lock timeout rows before stock; the transition ends with the stock.
    await this.watch.begin(locked.tx, [{ ...locked.order, status: 'CANCELLED' }], locked.now, by.traceparent);
    await this.write(locked, 'CANCELLED', reason, by);
  }

  private async beginClosing(locked: LockedOrderContext, reason: string, by: ActionContext): Promise<void> {
    const { tx, order } = locked;
    const [, ...reminders] = allTimeouts(order);
    await this.transaction.scheduler.cancel(reminders, { tx });
    await this.transaction.decideNow(tx, order.id);
    await this.write(locked, 'CLOSING', reason, by);
  }

  private async write(
    { tx, order, now }: LockedOrderContext,
    to: 'CANCELLED' | 'CLOSING',
    reason: string,
    by: ActionContext,
  ): Promise<void> {
    const step = transition(order, to, { by, now, reason, closingReason: 'cancelled' });
    await applyStep(this.transaction.store, tx, step);
  }
}

import { Injectable } from '@nestjs/common';
import { type NotificationReply, type NotificationRequest } from '../payments';
import { type ActionOptions, type LookUpOptions, type OperatorOptions, type Actor } from './model/transition';
import {
  EndOrder,
  type CancelOrderResult,
  type Cancellation,
  type CloseOrderResult,
  type ManualClose,
} from './close/end-order';
import {
  Deadlines,
  type ExtendDeadlineResult,
  type NewDeadline,
  type AutoCloseChange,
  type SetAutoCloseResult,
} from './deadline/deadline';
import { BulkActions } from './operator/bulk-actions';
import {
  type ManualRefund,
  RefundPayment,
  type RefundPaymentResult,
  ReviveOrder,
  type ReviveOrderResult,
  type Revival,
} from './operator/refund-and-revive';
import { type OrderView } from './model/order';
import { CheckPayment, type CheckPaymentResult } from './pay/reconcile-payments';
import { HandleNotification } from './pay/handle-notification';
import { MarkPaid, type MarkPaidResult } from './pay/mark-paid';
import { RegisterAttempt, type RegisterAttemptResult } from './pay/register-attempt';
import { type ReportedPayment } from './model/reported-payment';
import { type NewOrder, type OrderAttempt, type PlaceResult } from './model/new-order';
import { PlaceOrders } from './place/place-orders';
import { ListOrders, type OrderList, type OrderPage, type HistoryEntry, ReadOrder } from './read/read-orders';
import { ErasePersonalData, type ErasePersonalDataResult, type ErasureRequest } from './retention/purge-orders';
import { Purge, type PurgeRun } from './retention/purge';
import { UnmatchedPayments } from './operator/settle-unmatched';

/**
 * Everything that an application does with orders. Inject it.
 *
 * Money is in minor units, times are `Date`s, durations are milliseconds. What a rule does not allow is a result with
 * the outcome `rejected` and a `code`, not an error. With `tx`, an action is part of the caller's transaction, and a
 * rejection leaves that transaction intact. Except for `place` and `placeMany`, `tx` must run at READ COMMITTED.
 *
 * All actions on an order throw `InvalidOrderError` if the request is malformed, and `UnsupportedIsolationLevelError`
 * if `tx` runs at a higher isolation level. Nothing was written then.
 */
@Injectable()
export class Orders {
  /** @internal Nest creates it. */
  constructor(
    private readonly placing: PlaceOrders,
    private readonly reading: ReadOrder,
    private readonly listing: ListOrders,
    private readonly registering: RegisterAttempt,
    private readonly booking: MarkPaid,
    private readonly checking: CheckPayment,
    private readonly notifications: HandleNotification,
    private readonly deadlines: Deadlines,
    private readonly ending: EndOrder,
    private readonly reviving: ReviveOrder,
    private readonly refunding: RefundPayment,
    private readonly erasing: ErasePersonalData,
    private readonly purging: Purge,
    /** Payments that belong to no order, or that their order does not take. */
    readonly unmatched: UnmatchedPayments,
    /** Operator actions on many orders. */
    readonly bulk: BulkActions,
  ) {}

  /**
   * Places an order: writes it, reserves its stock, and sets its deadline. A repeated request changes nothing and returns
   * the current order (`replayed`). Without `tx`, concurrent calls share a transaction, with separate results.
   */
  async place(order: NewOrder, options?: ActionOptions): Promise<PlaceResult> {
    const [result] = await this.placing.execute([order], options);
    if (!result) throw new Error(`order ${order.id} was neither placed nor rejected`);
    return result;
  }

  /**
   * Places orders in one transaction. Returns one result per order, in the same order. A rejected order does not affect
   * the others. If the stock is insufficient for all, earlier orders are served first.
   */
  placeMany(orders: readonly NewOrder[], options?: ActionOptions): Promise<PlaceResult[]> {
    return this.placing.execute(orders, options);
  }

  /**
   * Reads an order. Undefined: there is no such order. `expired` and `payable` are computed from the database's clock, so
   * they are right even if the closing is behind. An overdue order is then handled in the background.
   */
  get(orderId: string): Promise<OrderView | undefined> {
    return this.reading.execute(orderId);
  }

  /**
   * Lists the orders of a filter, newest first. Continue with `next` as `cursor` until it is null. A page may have fewer
   * orders than `limit` allows, and even none, before that: a rare filter is searched for a second at a time.
   */
  list(page?: OrderPage): Promise<OrderList> {
    return this.listing.execute(page);
  }

  /** Reads the history of an order, oldest entry first. Empty: there is no such order. */
  history(orderId: string): Promise<HistoryEntry[]> {
    return this.reading.history(orderId);
  }

  /**
   * Registers a payment attempt. Call it before the buyer can pay: before an order closes, every registered attempt is
   * looked up. After the deadline, no attempt is accepted. Repeated: `replayed`.
   */
  registerAttempt(attempt: OrderAttempt, options?: ActionOptions): Promise<RegisterAttemptResult> {
    return this.registering.execute(attempt, options);
  }

  /**
   * Books a payment that your shop reports. It pays the order, but it is looked up at the provider before it is refunded.
   * The money is stored whatever the outcome. Idempotent.
   */
  markPaid(payment: ReportedPayment, options?: ActionOptions): Promise<MarkPaidResult> {
    return this.booking.execute(payment, options);
  }

  /**
   * Looks up the open attempts of an order, for the page to which the buyer returns. It books the payments that it
   * finds, closes nothing, and takes at most 8 s unless `signal` sets another limit. A provider that does not respond
   * changes nothing.
   */
  checkPayment(orderId: string, options?: LookUpOptions): Promise<CheckPaymentResult> {
    return this.checking.execute(orderId, options);
  }

  /**
   * Verifies and books a provider's notification, for an application with an HTTP route of its own. Send the returned
   * status, content type, and body. Undefined: no provider of this name sends notifications.
   */
  handleWebhook(providerName: string, request: NotificationRequest): Promise<NotificationReply | undefined> {
    return this.notifications.execute(providerName, request);
  }

  /** Moves the deadline of a PENDING order, later or earlier, even if it is overdue. */
  extendDeadline(deadline: NewDeadline, options?: ActionOptions): Promise<ExtendDeadlineResult> {
    return this.deadlines.extend(deadline, options);
  }

  /** Turns auto-close off or on for a PENDING order. Turned on again, an overdue order closes immediately. */
  setAutoClose(change: AutoCloseChange, options?: ActionOptions): Promise<SetAutoCloseResult> {
    return this.deadlines.setAutoClose(change, options);
  }

  /** Cancels an order for the buyer or the shop. Open attempts are closed at their providers first. Idempotent. */
  cancel(request: Cancellation, options?: ActionOptions): Promise<CancelOrderResult> {
    return this.ending.cancel(request, options);
  }

  /** Operator: closes an unpaid order now, whatever its deadline and `autoClose`. Idempotent. */
  close(request: ManualClose, options?: OperatorOptions): Promise<CloseOrderResult> {
    return this.ending.close(request, options);
  }

  /** Operator: makes a CLOSED order PAID by the money that it holds, if its goods are in stock. Idempotent. */
  revive(request: Revival, options?: OperatorOptions): Promise<ReviveOrderResult> {
    return this.reviving.execute(request, options);
  }

  /**
   * Operator: refunds one payment in full, but none that a paid order needs. A payment that was only reported is looked
   * up first, for at most 8 s unless `signal` sets another limit. Idempotent.
   */
  refund(request: ManualRefund, options?: LookUpOptions<Actor>): Promise<RefundPaymentResult> {
    return this.refunding.execute(request, options);
  }

  /**
   * Operator: removes everything that may identify the buyer from a finished order. Amounts, statuses, and times stay.
   * Idempotent.
   */
  erasePersonalData(request: ErasureRequest, options?: OperatorOptions): Promise<ErasePersonalDataResult> {
    return this.erasing.execute(request, options);
  }

  /**
   * Deletes data whose retention has ended, for about a second. The module does so by itself; call this only to purge
   * sooner, until `hasMore` is false.
   */
  purge(signal?: AbortSignal): Promise<PurgeRun> {
    return this.purging.runOnce(signal);
  }
}

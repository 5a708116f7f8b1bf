import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Inventory, type StockShortage } from '../../inventory';
import { checkRequest } from '../input/check-input';
import { HandleUnmatched } from '../unmatched/handle-unmatched';
import { NoteUnmatchedMoney } from '../unmatched/note-unmatched-money';
import { type LockedOrderContext, OrderTransaction } from '../sql/order-transaction';
import { type OrderView, type LockedOrder, type OrderStatus, type PaymentAttempt } from '../model/order';
import { type OperatorOptions, type ActionContext, byOperator } from '../model/transition';
import { UnmatchedRows } from '../unmatched/unmatched-payment';
import { moneyReceived } from '../model/money';

/** Which order to revive, and why. */
export interface Revival {
  readonly orderId: string;
  readonly reason: string;
}

export type ReviveOrderResult =
  | { readonly outcome: 'revived' | 'already-paid'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  /** Its goods are sold. The money stays where it is. */
  | { readonly outcome: 'rejected'; readonly code: 'OUT_OF_STOCK'; readonly shortages: readonly StockShortage[] }
  | ({ readonly outcome: 'rejected' } & RevivalRefusal);

/**
 * Makes a closed order PAID by the money that was kept for it, if its goods are in stock. A canceled order is never
 * revived. Idempotent.
 */
@Injectable()
export class ReviveOrder {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly unmatched: HandleUnmatched,
    private readonly found: NoteUnmatchedMoney,
    private readonly inventory: Inventory,
    private readonly rows: UnmatchedRows,
  ) {}

  /** @throws InvalidOrderError if the request is invalid. */
  execute(request: Revival, { by, tx }: OperatorOptions = {}): Promise<ReviveOrderResult> {
    checkRequest('revival', request);
    return this.transaction.withOrder<ReviveOrderResult>(request.orderId, tx, (locked) =>
      this.decide(locked, { by: byOperator(by), reason: request.reason }),
    );
  }

  private async decide(
    { tx, order, now }: LockedOrderContext,
    { by, reason }: { readonly by: ActionContext; readonly reason: string },
  ): Promise<ReviveOrderResult> {
    const { transaction, unmatched, found, rows } = this;
    const paid = order.attempts.filter((attempt) => attempt.status === 'PAID');
    const decision = decideRevival(order, await found.disputed(tx, paid));
    if (decision.type === 'refuse') return { outcome: 'rejected', ...decision.refusal };
    if (decision.type === 'already-paid')
      return { outcome: 'already-paid', order: await transaction.view(tx, order.id) };
    if (!(await unmatched.reviveWith(order, decision.attempts, { tx, by, now }, reason))) {
      return { outcome: 'rejected', code: 'OUT_OF_STOCK', shortages: await this.shortagesOf(tx, order.id) };
    }
    await rows.reviveLate(tx, order.id, { by, reason });
    return { outcome: 'revived', order: await transaction.view(tx, order.id) };
  }

  private async shortagesOf(tx: EntityManager, orderId: string): Promise<StockShortage[]> {
    const { lines } = await this.transaction.view(tx, orderId);
    const wanted = new Map<string, number>();
    for (const { sku, quantity } of lines) wanted.set(sku, (wanted.get(sku) ?? 0) + quantity);
    const levels = await this.inventory.read(tx, [...wanted.keys()]);
    const available = new Map(levels.map((level) => [level.sku, level.available]));
    const shortages = [...wanted].map(([sku, count]) => ({ sku, wanted: count, available: available.get(sku) ?? 0 }));
    return shortages.filter((shortage) => shortage.available < shortage.wanted);
  }
}

/** Why an order cannot be revived, whatever is in stock. */
type RevivalRefusal =
  | { readonly code: 'ORDER_NOT_REVIVABLE'; readonly status: OrderStatus }
  /** Its payments do not pay it. `PAYMENT_TAKEN`: they would, but another order counts on the same payment. */
  | { readonly code: 'PAYMENT_INSUFFICIENT' | 'PAYMENT_TAKEN' }
  /** They would, but a person has dealt with one of them, and may have given it back. */
  | { readonly code: 'UNMATCHED_PAYMENT_HANDLED'; readonly handling: 'settled' };

type RevivalDecision =
  | { readonly type: 'revive'; readonly attempts: readonly PaymentAttempt[] }
  | { readonly type: 'already-paid' }
  | { readonly type: 'refuse'; readonly refusal: RevivalRefusal };

/**
 * Pure: decides whether a closed order is revived.
 *
 * @param disputed payments of the order that another order counts on, too.
 */
export function decideRevival(order: LockedOrder, disputed: readonly PaymentAttempt[]): RevivalDecision {
  if (order.status === 'PAID') return { type: 'already-paid' };
  if (order.status !== 'CLOSED') return refuse({ code: 'ORDER_NOT_REVIVABLE', status: order.status });
  const isEnough = (attempts: readonly PaymentAttempt[]): boolean =>
    moneyReceived(order, attempts).type === 'sufficient';
  const left = order.attempts.filter((attempt) => !disputed.includes(attempt));
  const attempts = left.filter(({ status }) => status === 'PAID');
  if (isEnough(attempts)) return { type: 'revive', attempts };
  if (isEnough(left.map(reopened))) return refuse({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' });
  return refuse({ code: isEnough(order.attempts) ? 'PAYMENT_TAKEN' : 'PAYMENT_INSUFFICIENT' });
}

function reopened(attempt: PaymentAttempt): PaymentAttempt {
  return attempt.status === 'SETTLED' ? { ...attempt, status: 'PAID' } : attempt;
}

function refuse(refusal: RevivalRefusal): RevivalDecision {
  return { type: 'refuse', refusal };
}

import { type EntityManager } from 'typeorm';
import { type Inventory, type StockShortage } from '../../inventory';
import { checkRequest } from '../input/check-new-order';
import { type HandleUnmatched } from '../unmatched/handle-unmatched';
import { type NoteUnmatchedMoney } from '../unmatched/note-unmatched-money';
import { type LockedOrderContext, type OrderTransaction } from '../order-transaction';
import { type OrderView } from '../order-view';
import { type OperatorOptions } from '../action-options';
import { type ActionContext } from '../transition-cause';
import { byOperator } from './by-operator';
import { decideRevival, type RevivalRefusal } from './decide-revival';
import { type UnmatchedRows } from '../unmatched/unmatched-rows';

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

interface Dependencies {
  readonly transaction: OrderTransaction;
  readonly unmatched: HandleUnmatched;
  readonly found: NoteUnmatchedMoney;
  readonly inventory: Pick<Inventory, 'read'>;
  readonly rows: UnmatchedRows;
}

/**
 * Makes a closed order PAID by the money that was kept for it, if its goods are in stock. A canceled order is never
 * revived. Idempotent.
 */
export class ReviveOrder {
  constructor(private readonly deps: Dependencies) {}

  /** @throws InvalidOrderError if the request is invalid. */
  execute(request: Revival, { by, tx }: OperatorOptions = {}): Promise<ReviveOrderResult> {
    checkRequest('revival', request);
    return this.deps.transaction.withOrder<ReviveOrderResult>(
      request.orderId,
      tx,
      (locked) => this.decide(locked, { by: byOperator(by), reason: request.reason }),
      () => ({ outcome: 'rejected', code: 'ORDER_NOT_FOUND' }),
    );
  }

  private async decide(
    { tx, order, now }: LockedOrderContext,
    { by, reason }: { readonly by: ActionContext; readonly reason: string },
  ): Promise<ReviveOrderResult> {
    const { transaction, unmatched, found, rows } = this.deps;
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
    const { lines } = await this.deps.transaction.view(tx, orderId);
    const wanted = new Map<string, number>();
    for (const { sku, quantity } of lines) wanted.set(sku, (wanted.get(sku) ?? 0) + quantity);
    const levels = await this.deps.inventory.read(tx, [...wanted.keys()]);
    const available = new Map(levels.map((level) => [level.sku, level.available]));
    const shortages = [...wanted].map(([sku, count]) => ({ sku, wanted: count, available: available.get(sku) ?? 0 }));
    return shortages.filter((shortage) => shortage.available < shortage.wanted);
  }
}

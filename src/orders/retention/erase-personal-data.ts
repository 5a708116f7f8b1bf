import { type EntityManager } from 'typeorm';
import { type OrderListeners } from '../listeners/order-listeners';
import { type LockedOrder, type OrderStatus, type OrderView } from '../order';
import { type OrderTransaction } from '../order-transaction';
import { runTransaction } from '../../database';
import { type OperatorOptions, type Actor } from '../transition';
import { EraseRows, type OpenItem, OpenItems, FINISHED_STATUSES } from './purge-orders';

/** `already-erased`: there was nothing left to erase, and nothing was written. */
export type ErasePersonalDataResult =
  | { readonly outcome: 'erased' | 'already-erased'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FINISHED'; readonly status: OrderStatus }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_HAS_OPEN_ITEMS'; readonly open: readonly OpenItem[] };

/** Which order, and why. The reason stays in the history, so it must not name the person. */
export interface ErasureRequest {
  readonly orderId: string;
  readonly reason: string;
}

/**
 * Removes everything that may identify the buyer from a finished order. The accounts stay complete. Metadata, evidence,
 * transaction ids, texts, and idempotency keys are removed. Merchant references become pseudonyms, the same for an
 * attempt, its refund, and its unmatched money. Amounts, currencies, statuses, versions, times, lines, and merchant
 * accounts stay.
 */
export class ErasePersonalData {
  private readonly openItems: OpenItems;
  private readonly rows: EraseRows;

  constructor(
    private readonly transaction: OrderTransaction,
    listeners: Pick<OrderListeners, 'kinds'>,
  ) {
    this.openItems = new OpenItems(transaction.schema, () => listeners.kinds);
    this.rows = new EraseRows(transaction.schema);
  }

  /** Idempotent. The history gets an entry with the cause `operator`, the actor, and the reason. */
  execute(request: ErasureRequest, { by = {}, tx: caller }: OperatorOptions = {}): Promise<ErasePersonalDataResult> {
    return runTransaction(this.transaction, caller, async (tx) => {
      // Does not adopt money that arrived before its order, unlike other actions: such money is an open item, and the
      // erasure is rejected.
      const { orders } = await this.transaction.store.lock(tx, [request.orderId], 'wait');
      const order = orders.get(request.orderId);
      if (!order) return { outcome: 'rejected', code: 'ORDER_NOT_FOUND' };
      return this.erase(tx, order, request.reason, by);
    });
  }

  private async erase(
    tx: EntityManager,
    { id, status, version }: LockedOrder,
    reason: string,
    by: Actor,
  ): Promise<ErasePersonalDataResult> {
    if (!(FINISHED_STATUSES as readonly OrderStatus[]).includes(status)) {
      return { outcome: 'rejected', code: 'ORDER_NOT_FINISHED', status };
    }
    const open = (await this.openItems.execute(tx, [id])).get(id) ?? [];
    if (open.length > 0) return { outcome: 'rejected', code: 'ORDER_HAS_OPEN_ITEMS', open };
    if (await this.rows.isErased(tx, id))
      return { outcome: 'already-erased', order: await this.transaction.view(tx, id) };
    await this.rows.execute(tx, { id, version }, reason, by);
    return { outcome: 'erased', order: await this.transaction.view(tx, id) };
  }
}

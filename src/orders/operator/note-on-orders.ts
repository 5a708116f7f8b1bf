import { type JsonObject } from '../../outbox';
import { ownQuery, runTransaction } from '../../database';
import { type TimeoutRef } from '../../timeouts';
import {
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  ORDER_REMINDER,
  parseReminderKey,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
} from '../order-timeouts';
import { type OrderTransaction } from '../order-transaction';
import { AmendOrder } from '../sql/amend-order';
import { type Actor } from '../transition-cause';
import { byOperator } from './by-operator';

/** What an operator does that concerns orders without changing them. */
export interface OperatorNote {
  readonly by: Actor;
  readonly reason: string;
  /** Only orders of these merchants. Undefined: all. */
  readonly merchants: readonly string[] | undefined;
  readonly evidence: JsonObject;
}

/** Writes into the histories of orders what an operator does with their timeouts. */
export class NoteOnOrders {
  private readonly amend: AmendOrder;
  private readonly refundedSql: string;

  constructor(private readonly transaction: OrderTransaction) {
    this.amend = new AmendOrder(transaction.schema);
    this.refundedSql = `SELECT order_id FROM ${transaction.schema}.refund WHERE number = ANY($1::text[])`;
  }

  /** In one transaction. Timeouts that name no order, and orders that are gone, are left out. */
  async execute(timeouts: readonly TimeoutRef[], { by, reason, merchants, evidence }: OperatorNote): Promise<void> {
    const named = timeouts.flatMap((timeout) => orderOf(timeout) ?? []);
    const ids = [...new Set([...named, ...(await this.refunded(timeouts))])].sort();
    if (ids.length === 0) return;
    await runTransaction(this.transaction, undefined, async (tx) => {
      const { orders } = await this.transaction.store.lock(tx, ids, 'wait');
      const why = { by: byOperator(by), reason, evidence };
      const visible = [...orders.values()].filter(({ merchantId }) => merchants?.includes(merchantId) ?? true);
      for (const order of visible) await this.amend.execute(tx, order, {}, why);
    });
  }

  /** The key of a refund's timeout is the number of the refund. */
  private async refunded(timeouts: readonly TimeoutRef[]): Promise<string[]> {
    const numbers = timeouts.filter(({ kind }) => kind === PAYMENT_REFUND).map(({ key }) => key);
    if (numbers.length === 0) return [];
    const rows = await ownQuery<{ order_id: string }[]>(this.transaction.dataSource, this.refundedSql, [numbers]);
    return rows.map(({ order_id: orderId }) => orderId);
  }
}

/** Undefined: the key of the timeout names no order. */
function orderOf({ kind, key }: TimeoutRef): string | undefined {
  if (kind === ORDER_REMINDER) return parseReminderKey(key).orderId;
  return [ORDER_PAYMENT, ORDER_LATE_WATCH, PAYMENT_RECONCILIATION].includes(kind) ? key : undefined;
}

import { type EntityManager } from 'typeorm';
import { Injectable } from '@nestjs/common';
import { type JsonObject } from '../../outbox';
import { isMoney } from '../input';
import { bookMoney, type Booking, moneyReceived } from '../model/money';
import {
  decideClaim,
  namesOfMoney,
  type UnownedMoney,
  unownedMoney,
  unownedOf,
  vouchedBy,
} from '../model/decide-claim';
import {
  type LockedOrder,
  isSameAttempt,
  isSamePayment,
  type ClosingReason,
  type Order,
  type OrderView,
  isUndecided,
} from '../model/order';
import { unmatchedFromAttempt } from '../model/unmatched-money';
import { isHandled, isOthersToo } from './handled-payments';
import { type AdoptablePayment, type LockedBatch } from './lock-orders';
import { OrderStore } from './order-store';
import { TimeoutScheduler } from '../../timeouts';
import { Database, statements, storableJson, type Transaction } from '../../database';
import { type ActionContext, type Transition } from '../model/transition';
import { ORDER_COLUMNS, type OrderRow, readViews, toOrder } from './order-rows';

/**
 * Books payments that were reported before their orders, or before their attempts were registered. Returns the changed
 * batch. It also runs at the deadline: neither of two concurrent transactions, one with the report and one that places
 * the order, sees the other.
 */
export async function adoptUnmatched(tx: EntityManager, store: OrderStore, batch: LockedBatch): Promise<LockedBatch> {
  const orders = new Map(batch.orders);
  const closed = new Map<string, readonly UnownedMoney[]>();
  for (const adoptable of batch.adoptable) {
    const order = orders.get(adoptable.orderId);
    // Another merchant account may use the same reference.
    const isIts = order?.attempts.some((attempt) => isSameAttempt(store.resolved(attempt), adoptable)) === true;
    if (order && (adoptable.namesOrder || isIts))
      orders.set(order.id, await adopt(tx, store, order, adoptable, { now: batch.now, closed }));
  }
  return { ...batch, orders, adoptable: [] };
}

/**
 * Money of an attempt that belongs to another order, or that another order counts on, stays where it is. So does what is
 * no money: a release before stored whatever a provider stated. A person is told of what another order had, or only claims.
 *
 * @param closed the rows of the payments that orders have got, by order. A report under one of their names is about these.
 */
async function adopt(
  tx: EntityManager,
  store: OrderStore,
  order: LockedOrder,
  adoptable: AdoptablePayment,
  { now, closed }: { readonly now: Date; readonly closed: Map<string, readonly UnownedMoney[]> },
): Promise<LockedOrder> {
  const told = unownedMoney(adoptable, now);
  if (!isMoney(told)) return order;
  const first = bookMoney(order, told);
  const found = await store.samePaymentsLocked(tx, namesOfMoney(told, first.money));
  const vouched = vouchedBy(order, first.money, found);
  const booking = vouched ? bookMoney(order, vouched) : first;
  const { money } = booking;
  const same = vouched ? await store.samePaymentsLocked(tx, [vouched]) : found;
  const decision = decideClaim(order, money, same, booking.wasBooked);
  if (decision === 'refused') return order;
  if (!booking.wasBooked && isHandled(same.handled, money)) return order;
  // What a person has settled counts as none, so the row stays the one that shows it.
  if (booking.isDisputed || booking.holder.status === 'SETTLED') return order;
  if (!(await store.holdUnmatched(tx, [adoptable]))) return order;
  const before = closed.get(order.id) ?? [];
  // Not what a provider has told, if only a report names its id: another amount, for example, must stay in sight.
  const isTold = ({ source }: UnownedMoney): boolean => money.source === 'provider' || source === 'report';
  const rows = [adoptable, ...unownedOf(money, same).filter(isTold)];
  const isNamed = before.some((one) => isSamePayment(one, { ...money, transactionId: null }));
  if (isNamed && booking.isNew && money.source === 'report') {
    await store.closeUnmatched(tx, [adoptable], [order.id]);
    return order;
  }
  // It was registered for another order in the meantime. A person must find out whose it is.
  if (!(await writeBooking(tx, store, booking, { ...adoptable.evidence }))) return order;
  // It may have been told under several names.
  await store.closeUnmatched(tx, rows, [order.id]);
  closed.set(order.id, [...before, ...rows]);
  if (isOthersToo(decision, booking, same.handled)) {
    const why = { reason: 'attempt-mismatch', handling: 'kept', now } as const;
    await store.keepUnmatched(tx, [unmatchedFromAttempt(booking.holder, why)]);
  }
  return booking.after;
}

/**
 * Writes the changes of a booking to the attempts of a locked order. Returns false and writes nothing if the
 * unregistered attempt has been registered for another order in the meantime.
 */
export async function writeBooking(
  tx: EntityManager,
  store: OrderStore,
  { changed, isNew, holder }: Booking,
  evidence: JsonObject,
): Promise<boolean> {
  if (isNew && !(await store.insertPaid(tx, { attempt: holder, evidence }))) return false;
  const others = changed.filter((attempt) => !isNew || attempt !== holder).map((attempt) => ({ attempt, evidence }));
  await store.writeAttempts(tx, others);
  return true;
}

export interface LockedOrderContext {
  readonly tx: EntityManager;
  readonly order: LockedOrder;
  readonly now: Date;
}

/** Who changes an order, and why, for its history. */
export interface Why {
  readonly by: ActionContext;
  readonly reason: string;
}

interface Amendment {
  readonly expiresAt?: Date;
  readonly autoClose?: boolean;
  readonly graceMs?: number;
  readonly closingReason?: ClosingReason;
}

const NOT_FOUND = { outcome: 'rejected', code: 'ORDER_NOT_FOUND' } as const;

/** The common start and end of every use case for one order: its lock, its history, and the returned view. */
@Injectable()
export class OrderTransaction {
  constructor(
    readonly database: Database,
    readonly store: OrderStore,
    readonly scheduler: TimeoutScheduler,
  ) {}

  /** Runs `work` on the locked order in one transaction. */
  withOrder<T>(
    orderId: string,
    caller: Transaction | undefined,
    work: (locked: LockedOrderContext) => Promise<T>,
  ): Promise<T | typeof NOT_FOUND> {
    return this.withOrderOr<T | typeof NOT_FOUND>(orderId, caller, work, () => NOT_FOUND);
  }

  withOrderOr<T>(
    orderId: string,
    caller: Transaction | undefined,
    work: (locked: LockedOrderContext) => Promise<T>,
    missing: (tx: EntityManager, now: Date) => Promise<T> | T,
  ): Promise<T> {
    return this.database.run(caller, async (tx) => {
      const locked = await this.store.lock(tx, [orderId], 'wait');
      // Money that arrived before its order is booked by the first transaction that locks the order.
      const { orders, now } = await adoptUnmatched(tx, this.store, locked);
      const order = orders.get(orderId);
      if (!order) return missing(tx, now);
      const result = await work({ tx, order, now });
      // After the work, which may cancel or move timeouts: the closing decides immediately what the money means. Not if it
      // took none: a row that waits for a person would have the closing and a look-up call each other without end.
      const hasAdopted = order !== locked.orders.get(orderId);
      if (hasAdopted || isPaidFor(order)) await this.store.decideNow(tx, orderId);
      return result;
    });
  }

  /** Changes a locked order without changing its status. The history gets a row nevertheless. */
  async amend(
    tx: EntityManager,
    order: Order,
    amendment: Amendment,
    { by, reason, evidence }: Why & { readonly evidence: JsonObject },
  ): Promise<Order> {
    const [row] = await tx.query<OrderRow[]>(amendSql(this.database), [
      order.id,
      order.version,
      amendment.expiresAt?.toISOString() ?? null,
      amendment.autoClose ?? null,
      amendment.graceMs ?? null,
      by.cause,
      by.actor ?? null,
      reason,
      storableJson(evidence),
      by.traceparent ?? null,
      amendment.closingReason ?? null,
    ]);
    if (!row) throw new Error(`order ${order.id} changed under its lock`);
    return toOrder(row);
  }

  async view(tx: EntityManager, orderId: string): Promise<OrderView> {
    const found = (await readViews(tx, this.database, [orderId])).get(orderId);
    if (!found) throw new Error(`order ${orderId} disappeared under its lock`);
    return found.view;
  }
}

const amendSql = statements(
  (schema) => `
      WITH amended AS (
        UPDATE ${schema}.orders
           SET expires_at = COALESCE($3, expires_at), auto_close = COALESCE($4, auto_close),
               grace_ms = COALESCE($5, grace_ms), closing_reason = COALESCE($11, closing_reason), version = version + 1, updated_at = now()
         WHERE id = $1 AND version = $2 RETURNING *),
      history AS (
        INSERT INTO ${schema}.order_history
               (order_id, version, from_status, to_status, cause, actor, reason, evidence, traceparent)
        SELECT id, version, status, status, $6, $7, $8, $9::jsonb, $10 FROM amended)
      SELECT ${ORDER_COLUMNS} FROM amended o`,
);

/** Booked while another session held its stock, or the order would have ended. Only its timeout makes it PAID. */
export function isPaidFor(order: LockedOrder): boolean {
  return isUndecided(order.status) && moneyReceived(order, order.attempts).type === 'sufficient';
}

/** Writes one step of an order that the caller has locked. Throws if it was not locked, which is a bug. */
export async function applyStep(store: OrderStore, tx: EntityManager, step: Transition): Promise<void> {
  const moved = await store.apply(tx, [step]);
  if (!moved.has(step.order.id)) throw new Error(`order ${step.order.id} changed under its lock`);
}

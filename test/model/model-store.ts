import { applyFinding, type AttemptFinding } from '../../src/orders/attempt-finding';
import { type Refund } from '../../src/orders/late/refund';
import { type LockedOrder } from '../../src/orders/order';
import { canTransition, type OrderStatus } from '../../src/orders/order-status';
import { type UnexpectedMoney } from '../../src/orders/order-store';
import {
  type AttemptKey,
  type AttemptStatus,
  canTakeMoney,
  isBooked,
  isSameAttempt,
  type PaymentAttempt,
} from '../../src/orders/payment-attempt';
import { type Transition } from '../../src/orders/transition';
import { type PaidOutcome } from '../../src/payments';
import { type ModelStock } from './model-stock';

/** One row of order_history. */
export interface HistoryRow {
  readonly version: number;
  readonly from: OrderStatus;
  readonly to: OrderStatus;
  readonly atMs: number;
  /** When the order, as it was then, might be closed at the earliest. */
  readonly closesAtMs: number;
  readonly closingReason: LockedOrder['closingReason'];
}

export interface RefundRow extends Refund {
  status: 'PENDING' | 'REFUNDED';
  readonly createdMs: number;
}

/**
 * The order tables of one run. Whoever calls it does so within one step of the agenda, and that is its transaction:
 * the real ones hold the row lock from first read to commit, so nothing comes between.
 */
export class ModelStore {
  readonly history = new Map<string, HistoryRow[]>();
  readonly refunds = new Map<string, RefundRow>();
  readonly unexpected: UnexpectedMoney[] = [];
  /** Payments of attempts that nobody had registered when they were reported, by attempt. */
  private readonly unclaimed = new Map<string, PaidOutcome>();
  private readonly orders = new Map<string, LockedOrder>();

  constructor(
    readonly stock: ModelStock,
    private readonly now: () => Date,
  ) {}

  insert(order: LockedOrder): void {
    this.orders.set(order.id, order);
    this.history.set(order.id, []);
  }

  all(): LockedOrder[] {
    return [...this.orders.values()];
  }

  lock(orderId: string): LockedOrder {
    const order = this.orders.get(orderId);
    if (!order) throw new Error(`there is no order ${orderId}`);
    return order;
  }

  findAttempt(key: AttemptKey): PaymentAttempt | undefined {
    for (const order of this.orders.values()) {
      const found = order.attempts.find((attempt) => isSameAttempt(attempt, key));
      if (found) return found;
    }
    return undefined;
  }

  recordFindings(orderId: string, findings: readonly AttemptFinding[]): void {
    this.mapAttempts(orderId, (attempt) =>
      applyFinding(attempt, findings.find((found) => isSameAttempt(found, attempt))?.finding),
    );
  }

  setAttemptStatus(orderId: string, keys: readonly AttemptKey[], status: 'REFUNDING' | 'REFUNDED'): void {
    const isMeant = (attempt: PaymentAttempt): boolean => keys.some((key) => isSameAttempt(key, attempt));
    this.mapAttempts(orderId, (attempt) => (isMeant(attempt) ? { ...attempt, status } : attempt));
  }

  putAttempt(attempt: PaymentAttempt): void {
    const order = this.lock(attempt.orderId);
    const isNew = !order.attempts.some((known) => isSameAttempt(known, attempt));
    if (isNew) this.orders.set(order.id, { ...order, attempts: [...order.attempts, attempt] });
    else this.mapAttempts(order.id, (known) => (isSameAttempt(known, attempt) ? attempt : known));
  }

  /** False: booked before. */
  putPaid(attempt: PaymentAttempt): boolean {
    const known = this.findAttempt(attempt);
    if (known && isBooked(known)) return false;
    this.putAttempt(attempt);
    return true;
  }

  /** src/orders/sql/adopt-unclaimed.ts: a registered attempt gets the payment that was reported before it was there. */
  adoptUnclaimed(orderId: string): boolean {
    if (this.unclaimed.size === 0) return false;
    let hasAdopted = false;
    for (const attempt of this.lock(orderId).attempts) {
      const paid = this.unclaimed.get(idOf(attempt));
      if (!paid || isBooked(attempt)) continue;
      this.putPaid(paidAttempt(attempt, paid));
      hasAdopted = this.unclaimed.delete(idOf(attempt));
    }
    return hasAdopted;
  }

  hasUnclaimed(key: AttemptKey): boolean {
    return this.unclaimed.has(idOf(key));
  }

  keepUnclaimed(key: AttemptKey, paid: PaidOutcome): void {
    this.unclaimed.set(idOf(key), paid);
  }

  /** src/orders/register-attempt.ts for an attempt that is there already, without a limit. */
  limitTime(orderId: string, timeExpire: Date): void {
    this.mapAttempts(orderId, (attempt) =>
      canTakeMoney(attempt) && attempt.timeExpire === null ? { ...attempt, timeExpire } : attempt,
    );
  }

  amend(
    orderId: string,
    amendment: Partial<Pick<LockedOrder, 'expiresAt' | 'graceMs' | 'closingReason'>>,
  ): LockedOrder {
    const order = this.lock(orderId);
    const amended = { ...order, ...amendment, version: order.version + 1 };
    this.orders.set(orderId, amended);
    this.append(amended, order.status);
    return amended;
  }

  /** The statement that writes a step, with its compare-and-set and the guard on closing. False: not written. */
  apply({ order: planned, to, closingReason }: Transition): boolean {
    const order = this.lock(planned.id);
    if (order.version !== planned.version || order.status !== planned.status) return false;
    const isRelease = to === 'CLOSED' || to === 'CANCELLED';
    if (isRelease && !order.attempts.every(({ status }) => RELEASABLE.includes(status))) return false;
    if (!canTransition(order.status, to)) throw new Error(`no way from ${order.status} to ${to}`);
    const stamp = isRelease ? { closedAt: this.now() } : to === 'PAID' ? { paidAt: this.now() } : {};
    const moved = { ...order, ...stamp, status: to, closingReason, version: order.version + 1 };
    this.orders.set(order.id, moved);
    this.append(moved, order.status);
    if (isRelease) this.stock.release(order.id);
    if (to === 'PAID') this.stock.commit(order.id);
    return true;
  }

  keepUnexpected(money: readonly UnexpectedMoney[]): void {
    for (const one of money) {
      if (!this.unexpected.some((kept) => kept.reason === one.reason && isSameAttempt(kept, one)))
        this.unexpected.push(one);
    }
  }

  private append(order: LockedOrder, from: OrderStatus): void {
    const { version, status: to, expiresAt, graceMs, closingReason } = order;
    const closesAtMs = expiresAt.getTime() + graceMs;
    this.history.get(order.id)?.push({ version, from, to, closesAtMs, closingReason, atMs: this.now().getTime() });
  }

  private mapAttempts(orderId: string, change: (attempt: PaymentAttempt) => PaymentAttempt): void {
    const order = this.lock(orderId);
    this.orders.set(orderId, { ...order, attempts: order.attempts.map(change) });
  }
}

/** The attempt as this payment makes it. */
export function paidAttempt(
  attempt: PaymentAttempt,
  { amount, currency, paidAt, transactionId }: PaidOutcome,
): PaymentAttempt {
  return { ...attempt, status: 'PAID', paidAmount: amount, paidCurrency: currency, paidAt, transactionId };
}

function idOf({ provider, reference }: AttemptKey): string {
  return `${provider}\n${reference}`;
}

const RELEASABLE: readonly AttemptStatus[] = ['CLOSED', 'REFUNDING', 'REFUNDED'];

import { type AttemptStatus } from '../../src/orders/attempt-status';
import { bookMoney, type Money } from '../../src/orders/pay/book-money';
import { type AttemptFinding } from '../../src/orders/lookup/attempt-finding';
import { type Refund } from '../../src/orders/unmatched/refund';
import { type LockedOrder } from '../../src/orders/order';
import { canTransition, type OrderStatus } from '../../src/orders/order-status';
import { type UnmatchedMoney } from '../../src/orders/unmatched/unmatched-money';
import {
  type AttemptKey,
  canTakeMoney,
  isBooked,
  isSameAttempt,
  isSamePayment,
  type PaymentAttempt,
  type PaymentNames,
  withStatus,
} from '../../src/orders/payment-attempt';
import { type Transition } from '../../src/orders/transition';
import { type TransitionCause } from '../../src/orders/transition-cause';
import { withFindings } from '../../src/orders/lookup/with-findings';
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
  /** Absent: the status is the same as before. */
  readonly cause?: TransitionCause;
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
  readonly unmatched: UnmatchedMoney[] = [];
  /** Payments of attempts that nobody had registered when they were reported, by attempt. */
  private readonly adoptable = new Map<string, Money>();
  /** What an order looked like, and until when. */
  private readonly past = new Map<string, { readonly untilMs: number; readonly order: LockedOrder }[]>();
  private readonly orders = new Map<string, LockedOrder>();

  constructor(
    readonly stock: ModelStock,
    private readonly now: () => Date,
    private readonly knowsAccounts: boolean,
  ) {}

  insert(order: LockedOrder): void {
    this.put(order);
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

  /** The attempt that these names mean; one that has the reference before one that knows it as its transaction. */
  findAttempt(names: PaymentNames): PaymentAttempt | undefined {
    const attempts = this.all().flatMap((order) => order.attempts);
    const isMeant = (attempt: PaymentAttempt): boolean =>
      this.knowsAccounts ? isSameAttempt(attempt, names) : attempt.reference === names.reference;
    return attempts.find(isMeant) ?? attempts.find((attempt) => isBooked(attempt) && isSamePayment(attempt, names));
  }

  /** Undefined: the order itself was changed since then, which ends the transaction with a serialization failure. */
  asOf(orderId: string, atMs: number): LockedOrder | undefined {
    const order = this.lock(orderId);
    const then = this.past.get(orderId)?.find(({ untilMs }) => untilMs > atMs)?.order ?? order;
    return then.version === order.version ? then : undefined;
  }

  recordFindings(orderId: string, findings: readonly AttemptFinding[]): void {
    this.put(withFindings(this.lock(orderId), findings));
  }

  /** src/orders/sql/find-same-payments.ts, without the order that asks. */
  bookedElsewhere(orderId: string, names: PaymentNames): PaymentAttempt[] {
    const others = this.all().filter(({ id }) => id !== orderId);
    return others
      .flatMap(({ attempts }) => attempts)
      .filter((attempt) => isSameAttempt(attempt, names) || (isBooked(attempt) && isSamePayment(attempt, names)));
  }

  setAttemptStatus(orderId: string, keys: readonly AttemptKey[], status: 'REFUNDING' | 'REFUNDED'): void {
    const isMeant = (attempt: PaymentAttempt): boolean => keys.some((key) => isSameAttempt(key, attempt));
    this.mapAttempts(orderId, (attempt) => (isMeant(attempt) ? withStatus(attempt, status) : attempt));
  }

  putAttempt(attempt: PaymentAttempt): void {
    const order = this.lock(attempt.orderId);
    const isNew = !order.attempts.some((known) => isSameAttempt(known, attempt));
    if (isNew) this.put({ ...order, attempts: [...order.attempts, attempt] });
    else this.mapAttempts(order.id, (known) => (isSameAttempt(known, attempt) ? attempt : known));
  }

  /** The attempts of an order as a booking makes them. */
  putAttempts({ id, attempts }: LockedOrder): void {
    this.put({ ...this.lock(id), attempts });
  }

  /** src/orders/sql/adopt-unmatched.ts: a registered attempt gets the payment that was reported before it was there. */
  adoptUnmatched(orderId: string): boolean {
    if (this.adoptable.size === 0) return false;
    let hasAdopted = false;
    for (const attempt of this.lock(orderId).attempts) {
      const money = this.adoptable.get(this.idOf(attempt));
      if (!money || isBooked(attempt) || this.bookedElsewhere(orderId, money).length > 0) continue;
      this.putAttempts(bookMoney(this.lock(orderId), { ...money, merchantAccount: attempt.merchantAccount }).after);
      hasAdopted = this.adoptable.delete(this.idOf(attempt));
    }
    return hasAdopted;
  }

  hasAdoptable(key: AttemptKey): boolean {
    return this.adoptable.has(this.idOf(key));
  }

  keepAdoptable(money: Money): void {
    this.adoptable.set(this.idOf(money), money);
  }

  /** src/orders/pay/register-attempt.ts for an attempt that is there already, without a limit. */
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
    this.put(amended);
    this.append(amended, order.status);
    return amended;
  }

  /**
   * The statement that writes a step, with its compare-and-set and the rule for closing. False: not written.
   *
   * @param seen the order with the attempts that the rule sees, where those are not what is there.
   */
  apply({ order: planned, to, closingReason, by }: Transition, seen?: LockedOrder): boolean {
    const order = this.lock(planned.id);
    const { attempts } = seen ?? order;
    if (order.version !== planned.version || order.status !== planned.status) return false;
    const isRelease = to === 'CLOSED' || to === 'CANCELLED';
    if (isRelease && !attempts.every(({ status }) => RELEASABLE.includes(status))) return false;
    if (!canTransition(order.status, to)) throw new Error(`no way from ${order.status} to ${to}`);
    const stamp = isRelease ? { closedAt: this.now() } : to === 'PAID' ? { paidAt: this.now() } : {};
    const moved = { ...order, ...stamp, status: to, closingReason, version: order.version + 1 };
    this.put(moved);
    this.append(moved, order.status, by.cause);
    if (isRelease) this.stock.release(order.id);
    if (to === 'PAID') this.stock.commit(order.id);
    return true;
  }

  keepUnmatched(money: readonly UnmatchedMoney[]): void {
    for (const one of money) {
      const index = this.unmatched.findIndex((kept) => kept.reason === one.reason && isSameAttempt(kept, one));
      const known = this.unmatched[index];
      if (!known) this.unmatched.push(one);
      else if (known.handling === 'waiting' && one.handling === 'kept') this.unmatched[index] = one;
      else if (known.handling === 'kept' || known.handling === 'waiting') {
        const isConfirmed = known.source === 'report' && one.source === 'provider';
        const told = isConfirmed ? { ...one, handling: known.handling } : known;
        this.unmatched[index] = { ...told, orderId: known.orderId ?? one.orderId };
      }
    }
  }

  private append(order: LockedOrder, from: OrderStatus, cause?: TransitionCause): void {
    const { version, status: to, expiresAt, graceMs, closingReason } = order;
    const closesAtMs = expiresAt.getTime() + graceMs;
    const row = { version, from, to, closesAtMs, closingReason, atMs: this.now().getTime() };
    this.history.get(order.id)?.push(cause ? { ...row, cause } : row);
  }

  private mapAttempts(orderId: string, change: (attempt: PaymentAttempt) => PaymentAttempt): void {
    const order = this.lock(orderId);
    this.put({ ...order, attempts: order.attempts.map(change) });
  }

  private put(order: LockedOrder): void {
    const before = this.orders.get(order.id);
    const versions = this.past.get(order.id) ?? [];
    // Nobody reads from a snapshot that is older than a second.
    const nowMs = this.now().getTime();
    const young = versions.filter(({ untilMs }) => untilMs > nowMs - 1_000);
    if (before) this.past.set(order.id, [...young, { untilMs: nowMs, order: before }]);
    this.orders.set(order.id, order);
  }

  private idOf({ provider, merchantAccount, reference }: AttemptKey): string {
    return [provider, this.knowsAccounts ? merchantAccount : '', reference].join('\n');
  }
}

const RELEASABLE: readonly AttemptStatus[] = ['CLOSED', 'REFUNDING', 'REFUNDED', 'DUPLICATE'];

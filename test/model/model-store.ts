import {
  type AttemptStatus,
  type LockedOrder,
  canTransition,
  type OrderStatus,
  type AttemptKey,
  canTakeMoney,
  isBooked,
  isSameAttempt,
  isSamePayment,
  isSameRow,
  meantAttempt,
  type PaymentAttempt,
  type PaymentNames,
  withStatus,
} from '../../src/orders/model/order';
import { bookMoney, type Money } from '../../src/orders/model/money';
import { decideClaim, type SamePayments, unownedOf, vouchedBy } from '../../src/orders/model/decide-claim';
import { type AttemptFinding, withFindings } from '../../src/orders/model/findings';
import {
  type Refund,
  PART_REASONS,
  unmatchedFromAttempt,
  type UnmatchedMoney,
} from '../../src/orders/model/unmatched-money';
import { reportOf, isOpen } from '../../src/orders/unmatched/unmatched-payment';
import { moneyOf } from '../../src/orders/pay/mark-paid';
import { isHandled, isOthersToo, isRepetition } from '../../src/orders/sql/handled-payments';
import { type Transition, type TransitionCause } from '../../src/orders/model/transition';
import { type ModelStock } from './model-stock';
import { HandledTable } from './handled-table';
import { isHeld, type UnmatchedRow, UnmatchedTable } from './unmatched-table';
import { type Wiring } from './wiring';

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
  /** A person has paid it back, and the provider need not be asked. */
  isPaidBack?: boolean;
}

/**
 * The order tables of one run. Whoever calls it does so within one step of the agenda, and that is its transaction:
 * the real ones hold the row lock from first read to commit, so nothing comes between.
 */
export class ModelStore {
  readonly history = new Map<string, HistoryRow[]>();
  readonly refunds = new Map<string, RefundRow>();
  readonly unmatched: UnmatchedTable;
  readonly handled = new HandledTable();
  /** Orders that were purged, as they were then. */
  readonly purged: LockedOrder[] = [];
  /** What an order looked like, and until when. */
  private readonly past = new Map<string, { readonly untilMs: number; readonly order: LockedOrder }[]>();
  private readonly orders = new Map<string, LockedOrder>();

  constructor(
    readonly stock: ModelStock,
    private readonly now: () => Date,
    private readonly wiring: Pick<Wiring, 'knowsAccounts' | 'remembers' | 'distinguishes'>,
    /** Makes the timeout that closes this order due. */
    private readonly decideNow: (orderId: string) => void,
  ) {
    this.unmatched = new UnmatchedTable(wiring.distinguishes, (row, merchantAccount) => {
      this.handled.resolveAccount(row, merchantAccount);
      this.free(row);
    });
  }

  insert(order: LockedOrder): void {
    this.put(order);
    this.history.set(order.id, []);
  }

  all(): LockedOrder[] {
    return [...this.orders.values()];
  }

  has(orderId: string): boolean {
    return this.orders.has(orderId);
  }

  lock(orderId: string): LockedOrder {
    const order = this.orders.get(orderId);
    if (!order) throw new Error(`there is no order ${orderId}`);
    return order;
  }

  /** The attempt that these names mean; one that has the reference before one that knows it as its transaction. */
  findAttempt(names: PaymentNames): PaymentAttempt | undefined {
    const meant = this.meantBy(names);
    return meant?.status === 'DUPLICATE' ? (this.meantBy(meant) ?? meant) : meant;
  }

  private meantBy(names: PaymentNames): PaymentAttempt | undefined {
    const attempts = this.all().flatMap((order) => order.attempts);
    const isMeant = (attempt: PaymentAttempt): boolean =>
      this.wiring.knowsAccounts ? isSameAttempt(attempt, names) : attempt.reference === names.reference;
    const holders = attempts.filter((attempt) => hasItsId(attempt) && isSamePayment(attempt, names));
    if (this.wiring.knowsAccounts) return meantAttempt([...attempts.filter(isMeant), ...holders], names);
    return attempts.find(isMeant) ?? holders.find(({ paidSource }) => paidSource === 'provider') ?? holders[0];
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

  twins(row: UnmatchedRow, handling: 'kept' | 'settled' = 'kept'): UnmatchedRow[] {
    const attempts = this.all().flatMap((order) => order.attempts);
    return this.unmatched.twins(row, handling, attempts);
  }

  /** src/orders/sql/lock-orders.ts, without the order that asks. */
  bookedElsewhere(orderId: string, names: PaymentNames): PaymentAttempt[] {
    return this.samePayments(names).attempts.filter((attempt) => attempt.orderId !== orderId);
  }

  /** src/orders/sql/lock-orders.ts. A second payment under one reference is asked for under its first name, too. */
  samePayments(names: PaymentNames & Pick<Money, 'secondOf'>, orderId?: string): SamePayments {
    const isMeant = (one: PaymentAttempt): boolean =>
      isSameAttempt(one, names) || isNamed(one, names) || (hasItsId(one) && isSamePayment(one, names));
    const isUnowned = ({ source, reason, handling }: UnmatchedRow): boolean =>
      source === 'provider' && reason === 'unknown-order' && handling === 'kept';
    const rows = this.unmatched.all().filter((row) => isUnowned(row) && isSamePayment(row, names));
    return {
      attempts: this.all().flatMap(({ attempts }) => attempts.filter(isMeant)),
      unowned: rows.map((row) => ({ ...row, amount: BigInt(row.amount) })),
      handled: this.handled.find(names, orderId),
    };
  }

  /** @param by the order that books it */
  closeUnmatched(money: readonly { readonly id: string }[], by: string): void {
    const isMeant = ({ id }: UnmatchedRow): boolean => money.some((one) => one.id === id);
    const closed = this.unmatched.all().filter((row) => isMeant(row) && isOpen(row));
    this.unmatched.handle(isMeant, 'adopted');
    for (const row of closed) this.free(row, by);
  }

  /** A person resolves a row. */
  resolveUnmatched(row: UnmatchedRow, handling: 'adopted' | 'settled'): void {
    this.unmatched.resolve(row.id, handling, this.now());
    this.free(row);
  }

  /** `keptFromEnding` of src/orders/sql/attempts.ts: the orders that this money may have kept from ending are decided about. */
  private free(row: UnmatchedRow, by?: string): void {
    if (row.source !== 'provider') return;
    const references = [row.reference, statedReference(row)];
    const isNamed = ({ provider, reference }: PaymentAttempt): boolean =>
      provider === row.provider && references.includes(reference);
    const isOverdue = ({ status, expiresAt }: LockedOrder): boolean =>
      status === 'CLOSING' || (status === 'PENDING' && expiresAt <= this.now());
    for (const order of this.all().filter(({ id }) => id !== by)) {
      if (isOverdue(order) && (order.id === row.orderId || order.attempts.some(isNamed))) this.decideNow(order.id);
    }
  }

  setAttemptStatus(orderId: string, keys: readonly AttemptKey[], status: 'REFUNDING' | 'REFUNDED'): void {
    const isMeant = (attempt: PaymentAttempt): boolean => keys.some((key) => isSameRow(key, attempt));
    this.mapAttempts(orderId, (attempt) => (isMeant(attempt) ? withStatus(attempt, status) : attempt));
  }

  putAttempt(attempt: PaymentAttempt): void {
    const order = this.lock(attempt.orderId);
    const isNew = !order.attempts.some((known) => isSameRow(known, attempt));
    if (isNew) this.put({ ...order, attempts: [...order.attempts, attempt] });
    else this.mapAttempts(order.id, (known) => (isSameRow(known, attempt) ? attempt : known));
  }

  removeAttempt(attempt: PaymentAttempt): void {
    const order = this.lock(attempt.orderId);
    this.put({ ...order, attempts: order.attempts.filter((one) => !isSameRow(one, attempt)) });
  }

  /** The attempts of an order as a booking makes them. */
  putAttempts({ id, attempts }: LockedOrder): void {
    this.put({ ...this.lock(id), attempts });
  }

  /**
   * src/orders/sql/adopt-unmatched.ts: an order gets the payments that were reported before it, or its attempt, was there.
   * Whether there were any.
   */
  adoptUnmatched(orderId: string): boolean {
    const adoptable = this.adoptable(orderId);
    const closed: PaymentNames[] = [];
    for (const row of adoptable) {
      const { merchantAccount } = row;
      const order = this.lock(orderId);
      // Under the reference that the provider has stated, as if it were told of again.
      const isFirst = row.orderId === orderId || order.attempts.some((attempt) => this.isSame(attempt, row));
      const named = isFirst ? row : { ...row, reference: statedReference(row) };
      const told = moneyOf(reportOf(named, orderId), merchantAccount, row.source, this.now());
      const first = bookMoney(order, this.accounted(orderId, told));
      const vouched = vouchedBy(order, first.money, this.samePayments(first.money));
      const booking = vouched ? bookMoney(order, vouched) : first;
      const { money } = booking;
      const same = this.samePayments(money);
      const decision = decideClaim(order, money, same, booking.wasBooked);
      if (decision === 'refused') continue;
      if (!booking.wasBooked && isHandled(same.handled, money)) continue;
      if (booking.isDisputed || booking.holder.status === 'SETTLED') continue;
      this.closeUnmatched([row], orderId);
      const isNamed = closed.some((one) => isSamePayment(one, { ...money, transactionId: null }));
      if (isNamed && booking.isNew && money.source === 'report') continue;
      this.putAttempts(booking.after);
      closed.push(row, ...unownedOf(money, same));
      if (vouched) this.closeUnmatched(unownedOf(vouched, same), orderId);
      if (isOthersToo(decision, booking, same.handled)) {
        const why = { reason: 'attempt-mismatch', handling: 'kept', now: this.now() } as const;
        this.keepUnmatched([unmatchedFromAttempt(booking.holder, why)]);
      }
    }
    return adoptable.length > 0;
  }

  /** src/orders/sql/lock-orders.ts. */
  adoptable(orderId: string): UnmatchedRow[] {
    const kept = this.unmatched
      .all()
      .filter(({ reason, handling }) => reason === 'unknown-order' && handling === 'kept');
    if (kept.length === 0) return kept;
    const { attempts } = this.lock(orderId);
    const byProviders = [...kept].sort((a, b) => Number(a.source === 'report') - Number(b.source === 'report'));
    return byProviders.filter((row) => {
      if (row.orderId === orderId) return true;
      if (row.source === 'report' || (row.orderId !== null && this.orders.has(row.orderId))) return false;
      const stated = { ...row, reference: statedReference(row) };
      return attempts.some(
        (attempt) =>
          this.isSame(attempt, row) || (attempt.registered && !attempt.assigned && this.isSame(attempt, stated)),
      );
    });
  }

  /** Whether an attempt that is being registered has a payment that was reported before. */
  hasAdoptable(key: AttemptKey): boolean {
    const isIts = (row: UnmatchedRow): boolean =>
      this.isSame(row, key) || this.isSame({ ...row, reference: statedReference(row) }, key);
    return this.unmatched.all().some((row) => row.reason === 'unknown-order' && row.handling === 'kept' && isIts(row));
  }

  /** The order that has this attempt, of whatever status. */
  ownerOf(key: AttemptKey): string | undefined {
    return this.all().find(({ attempts }) => attempts.some((attempt) => isSameAttempt(attempt, key)))?.id;
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
    if (to === 'PAID') this.pay(order.id);
    return true;
  }

  keepUnmatched(money: readonly UnmatchedMoney[]): void {
    const isRepeated = (one: UnmatchedMoney): boolean =>
      one.reason === 'unknown-order' && isRepetition(this.handled.find(one, one.orderId), one);
    const attempts = this.all().flatMap((order) => order.attempts);
    this.unmatched.keep(
      money.filter((one) => !isRepeated(one)),
      attempts,
    );
  }

  /** Whether the money of this attempt is in a refund that is not done. */
  isRefunding(key: AttemptKey): boolean {
    return [...this.refunds.values()].some((refund) => refund.status === 'PENDING' && isSameRow(refund, key));
  }

  /** src/orders/retention/purge-orders.ts, for an order without open items. */
  purge(orderId: string): void {
    if (this.wiring.remembers) this.handled.rememberBooked(this.lock(orderId).attempts);
    this.purged.push(this.lock(orderId));
    this.orders.delete(orderId);
    for (const [number, refund] of this.refunds) if (refund.orderId === orderId) this.refunds.delete(number);
  }

  /** Of a weaker variant: only the rows say what was settled, and they are purged. */
  forgetSettled(olderThan: Date): void {
    const rows = this.unmatched.all().filter((row) => row.handling === 'settled' && row.createdAt < olderThan);
    const isIts = (attempt: PaymentAttempt): boolean => rows.some((row) => isSamePayment(attempt, row));
    for (const { id } of this.orders.values()) {
      this.mapAttempts(id, (one) => (one.status === 'SETTLED' && isIts(one) ? { ...one, status: 'PAID' } : one));
    }
    for (const row of rows) this.handled.forgetSettled(row);
  }

  /** src/orders/retention/purge-orders.ts: merchant references become pseudonyms, and transaction ids are forgotten. */
  erase(orderId: string, pseudonymOf: (key: AttemptKey) => string): void {
    if (this.wiring.remembers) this.handled.rememberBooked(this.lock(orderId).attempts);
    const erased = <T extends AttemptKey>(row: T): T => ({ ...row, reference: pseudonymOf(row) });
    const isOwn = (key: AttemptKey): boolean => this.lock(orderId).attempts.some((one) => isSameAttempt(one, key));
    for (const row of this.unmatched.all().filter((one) => one.orderId === orderId || isOwn(one))) {
      this.unmatched.change(row.id, {
        reference: pseudonymOf(row),
        transactionId: null,
        evidence: {},
        resolution: null,
      });
    }
    for (const [number, refund] of [...this.refunds].filter(([, one]) => one.orderId === orderId)) {
      this.refunds.delete(number);
      this.refunds.set(`erased ${number}`, { ...erased(refund), number: `erased ${number}` });
    }
    this.amend(orderId, {});
    this.put({ ...this.lock(orderId), isErased: true });
    this.mapAttempts(orderId, (attempt) => ({ ...erased(attempt), transactionId: null }));
  }

  private pay(orderId: string): void {
    this.stock.commit(orderId);
    const isRest = ({ reason, handling }: UnmatchedRow): boolean =>
      handling === 'waiting' || (handling === 'kept' && PART_REASONS.some((one) => one === reason));
    const settled = this.lock(orderId).attempts.filter(({ status }) => status === 'SETTLED');
    const isSettled = (row: UnmatchedRow): boolean => settled.some((attempt) => isSameRow(attempt, row));
    this.unmatched.handle((row) => row.orderId === orderId && isRest(row) && !isSettled(row), 'completed');
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
    this.answer(order.attempts.filter((attempt) => !before?.attempts.includes(attempt)));
  }

  /** src/orders/sql/attempts.ts: what an attempt that is written turns out not to hold needs nobody. */
  private answer(written: readonly PaymentAttempt[]): void {
    if (written.length === 0 || this.unmatched.open().length === 0) return;
    const empty = written.filter(({ paidAmount }) => paidAmount === null);
    const isAnswered = (row: UnmatchedRow): boolean =>
      isOpen(row) && isHeld(row) && empty.some((attempt) => isSameRow(attempt, row));
    this.unmatched.handle(isAnswered, 'adopted');
  }

  private isSame(a: AttemptKey, b: AttemptKey): boolean {
    return this.wiring.knowsAccounts ? isSameAttempt(a, b) : a.provider === b.provider && a.reference === b.reference;
  }

  /** A variant that knows no accounts books on whichever attempt has the number. */
  private accounted(orderId: string, money: Money): Money {
    if (this.wiring.knowsAccounts) return money;
    const known = this.lock(orderId).attempts.find((attempt) => this.isSame(attempt, money));
    return known ? { ...money, merchantAccount: known.merchantAccount } : money;
  }
}

/** It is registered under the name that the payment has at its provider. */
function hasItsId(attempt: PaymentAttempt): boolean {
  return isBooked(attempt) || attempt.status === 'DUPLICATE';
}

function isNamed(attempt: PaymentAttempt, { transactionId, ...key }: PaymentNames): boolean {
  return attempt.registered && transactionId !== null && isSameAttempt(attempt, { ...key, reference: transactionId });
}

/** The reference under which the provider took the money: that of a second payment is in the evidence. */
function statedReference({ reference, evidence }: UnmatchedRow): string {
  return typeof evidence.reference === 'string' ? evidence.reference : reference;
}

const RELEASABLE: readonly AttemptStatus[] = ['CLOSED', 'REFUNDING', 'REFUNDED', 'DUPLICATE', 'SETTLED'];

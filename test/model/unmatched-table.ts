import {
  SETTLED_HANDLINGS,
  FAILED_REFUND_REASONS,
  HELD_MONEY_REASONS,
  type UnmatchedHandling,
  type UnmatchedMoney,
  WHOLE_PAYMENT_REASONS,
} from '../../src/orders/model/unmatched-money';
import {
  type AttemptKey,
  isApart,
  isBooked,
  isSamePayment,
  isSameRow,
  type PaymentAttempt,
} from '../../src/orders/model/order';
import { isOpen, type UnmatchedPayment } from '../../src/orders/unmatched/unmatched-payment';

/** A row of unmatched_payment, with the name that its evidence has in the database. */
export interface UnmatchedRow extends UnmatchedPayment {
  readonly transactionId: string | null;
}

type Change = Partial<Omit<UnmatchedRow, 'id'>>;

/** The table of unmatched money of one run. What the SQL of src/orders does to its rows is done here in the same words. */
export class UnmatchedTable {
  private rows: UnmatchedRow[] = [];
  private ids = 0;

  /**
   * @param distinguishes whether two transactions under one reference are two payments
   * @param resolved is told of a row that has got its account
   */
  constructor(
    private readonly distinguishes: boolean,
    private readonly resolved: (row: UnmatchedRow, merchantAccount: string) => void,
  ) {}

  all(): readonly UnmatchedRow[] {
    return this.rows;
  }

  open(): UnmatchedRow[] {
    return this.rows.filter(isOpen);
  }

  find(id: string): UnmatchedRow | undefined {
    return this.rows.find((row) => row.id === id);
  }

  /** src/orders/sql/keep-unmatched-money.ts. @param attempts what the orders have */
  keep(money: readonly UnmatchedMoney[], attempts: readonly PaymentAttempt[] = []): void {
    const isOthers = (one: UnmatchedMoney): boolean =>
      this.distinguishes &&
      one.orderId === null &&
      one.source === 'provider' &&
      attempts.some((has) => isApart(has, one));
    for (const one of money.map((each) => this.accounted(isOthers(each) ? distinguished(each) : each))) {
      const told = rowOf(one);
      const known = this.rows.find((row) => row.reason === one.reason && isSameRow(row, one));
      if (known && this.distinguishes && isOtherPayment(known, told)) this.keep([distinguished(one)]);
      else if (known) this.change(known.id, keptAgain(known, told));
      else this.rows.push({ ...told, id: String(++this.ids) });
    }
  }

  /** One payment has one row, although one of two sources did not know its account. */
  private accounted(one: UnmatchedMoney): UnmatchedMoney {
    // What an attempt holds has the key of that attempt.
    if (isHeld(one)) return one;
    const isNamed = (row: UnmatchedRow): boolean =>
      row.reason === one.reason && isSameRow({ ...row, merchantAccount: one.merchantAccount }, one);
    const isOf = ({ orderId }: UnmatchedRow): boolean =>
      orderId === one.orderId || orderId === null || one.orderId === null;
    const isThere = ({ merchantAccount }: UnmatchedRow): boolean => merchantAccount === one.merchantAccount;
    const named = this.rows.filter(isNamed);
    const rows = named.filter(isOf);
    if (rows.some(isThere)) return one;
    const [only, ...others] = rows;
    if (one.merchantAccount === null)
      return only && others.length === 0 ? { ...one, merchantAccount: only.merchantAccount } : one;
    const unresolved = rows.find(({ merchantAccount }) => merchantAccount === null);
    if (!unresolved) return one;
    if (one.reason !== 'unknown-order') return { ...one, merchantAccount: null };
    if (unresolved.handling === 'adopted' || named.some(isThere)) return one;
    this.change(unresolved.id, { merchantAccount: one.merchantAccount });
    this.resolved(unresolved, one.merchantAccount);
    return one;
  }

  change(id: string, change: Change): void {
    this.rows = this.rows.map((row) => (row.id === id ? { ...row, ...change } : row));
  }

  handle(isMeant: (row: UnmatchedRow) => boolean, handling: UnmatchedHandling): void {
    for (const { id } of this.rows.filter(isMeant)) this.change(id, { handling });
  }

  /** src/orders/unmatched/unmatched-payment.ts. @param attempts of all orders */
  twins(row: UnmatchedRow, handling: 'kept' | 'settled', attempts: readonly PaymentAttempt[]): UnmatchedRow[] {
    const others = this.rows.filter((one) => one.id !== row.id && one.handling === handling);
    const isWhole = ({ reason }: Pick<UnmatchedRow, 'reason'>): boolean =>
      WHOLE_PAYMENT_REASONS.some((whole) => whole === reason);
    if (isWhole(row))
      return others.filter(
        (one) => isWhole(one) && one.reason !== row.reason && one.orderId === row.orderId && isSameRow(one, row),
      );
    const isEarly = ({ reason }: UnmatchedRow): boolean => reason === 'unknown-order' || reason === 'attempt-mismatch';
    if (!isEarly(row) || row.source !== 'provider') return [];
    const isAlone = !this.rows.some((one) => one.source === 'provider' && isSecondUnder(row, one));
    const isReported = (one: UnmatchedRow): boolean =>
      isReportOf(row, one, isAlone) && !isBookedElse(row, one, attempts);
    return others.filter(
      (one) => isEarly(one) && (one.source === 'provider' ? isConfirmedTwice(row, one) : isReported(one)),
    );
  }

  /** A person resolves a row. */
  resolve(id: string, handling: 'adopted' | 'settled', now: Date): void {
    this.change(id, { handling, resolvedAt: now, resolvedBy: 'operator', resolution: 'model' });
  }

  /** A person takes that back, or leaves them open. */
  reopen(rows: readonly UnmatchedRow[]): void {
    for (const { id } of rows)
      this.change(id, { handling: 'kept', resolvedAt: null, resolvedBy: null, resolution: null });
  }

  /** src/orders/retention/purge.ts; `isHeld`: something else needs the row, such as a refund that is not done. */
  purge(olderThan: Date, isHeld: (key: AttemptKey) => boolean): void {
    const isNeeded = (row: UnmatchedRow): boolean =>
      !isDone(row, isHeld) || (row.handling === 'settled' && isHeld(row));
    this.rows = this.rows.filter((row) => row.createdAt >= olderThan || isNeeded(row));
  }

  isDone(row: UnmatchedRow, isRefunding: (key: AttemptKey) => boolean): boolean {
    return isDone(row, isRefunding);
  }
}

function rowOf({
  reason,
  handling,
  orderId,
  now,
  evidence,
  transactionId,
  ...money
}: UnmatchedMoney): Omit<UnmatchedRow, 'id'> {
  const { provider, reference, merchantAccount, currency, source } = money;
  return {
    ...{ reason, handling, orderId, provider, reference, merchantAccount, currency, source, transactionId },
    amount: Number(money.amount),
    evidence: { ...evidence, transactionId },
    createdAt: now,
    resolvedAt: null,
    resolvedBy: null,
    resolution: null,
  };
}

function isEqual(a: UnmatchedRow, b: UnmatchedRow): boolean {
  return a.amount === b.amount && a.currency === b.currency;
}

/** One payment under one or several names, of which the provider has told. */
function isConfirmedTwice(row: UnmatchedRow, one: UnmatchedRow): boolean {
  const isUnowned = one.reason === 'unknown-order' && row.reason === 'unknown-order';
  const isOne = isUnowned || (one.reason !== row.reason && isEqual(one, row));
  const isTwo = one.reference === row.reference && one.transactionId !== row.transactionId;
  return isOne && isSamePayment(one, row) && !isTwo;
}

/** @param isAlone no other payment has the reference */
function isReportOf(row: UnmatchedRow, one: UnmatchedRow, isAlone: boolean): boolean {
  if (row.reason !== 'unknown-order' || !isEqual(one, row) || !isSamePayment(one, row)) return false;
  if (one.reference === row.transactionId) return true;
  const isNamed = one.transactionId === row.transactionId || (one.transactionId === null && isAlone);
  return one.reference === row.reference && isNamed;
}

function isSecondUnder({ provider, reference }: UnmatchedRow, one: UnmatchedRow): boolean {
  return one.provider === provider && one.evidence.reference === reference && one.reference !== reference;
}

function isBookedElse(row: UnmatchedRow, one: UnmatchedRow, attempts: readonly PaymentAttempt[]): boolean {
  const isIts = ({ provider, reference }: PaymentAttempt): boolean =>
    provider === one.provider && reference === one.reference;
  return attempts.some((other) => isIts(other) && isBooked(other) && other.transactionId !== row.transactionId);
}

/** Whether the provider, or reports, have stated both, and they are two payments. */
function isOtherPayment(known: UnmatchedRow, told: Omit<UnmatchedRow, 'id'>): boolean {
  if (known.source !== told.source) return false;
  if (known.transactionId === null || told.transactionId === null) return false;
  return known.transactionId !== told.transactionId && told.transactionId !== told.reference;
}

function distinguished({ transactionId, reference, evidence, ...money }: UnmatchedMoney): UnmatchedMoney {
  if (transactionId === null) throw new Error(`a second payment under ${reference} has no id`);
  return { ...money, transactionId, reference: transactionId, evidence: { ...evidence, reference } };
}

/** Whether the row is about money that an attempt of the order holds. */
export function isHeld(row: Pick<UnmatchedRow, 'reason'>): boolean {
  return HELD_MONEY_REASONS.some((reason) => reason === row.reason);
}

function keptAgain(known: UnmatchedRow, told: Omit<UnmatchedRow, 'id'>): Change {
  const { handling } = known;
  const isOther = known.amount !== told.amount || known.currency !== told.currency;
  const isEscalated = handling === 'waiting' && told.handling === 'kept';
  const isVouched = known.source === 'report' && told.source === 'provider';
  const isOfOrder = known.orderId === null || told.orderId === null || known.orderId === told.orderId;
  const isClaimAgain = known.reason === 'attempt-mismatch' && (isOther || isVouched || !isOfOrder);
  const isLeft = (handling === 'adopted' || handling === 'completed') && told.handling === 'kept';
  const isLeftAgain = isLeft && (isHeld(known) || isClaimAgain);
  const isNumbered = handling !== 'settled' || 'refundNumber' in told.evidence;
  const isFailedAgain =
    FAILED_REFUND_REASONS.some((reason) => reason === known.reason) && handling !== 'kept' && isNumbered;
  const isReopened = isLeftAgain || isFailedAgain || (handling === 'settled' && (isOther || isVouched));
  const isRestated = isOpen(known) && known.source === told.source && isOther && isOfOrder;
  const isConfirmed = isOpen(known) && isVouched;
  const isNamed = handling === 'kept' && known.orderId === null && told.orderId !== null;
  if (!isEscalated && !isReopened && !isRestated && !isConfirmed && !isNamed) return {};
  const { amount, currency, source, evidence, transactionId } = told;
  return {
    orderId: isVouched || isLeftAgain ? (told.orderId ?? known.orderId) : (known.orderId ?? told.orderId),
    ...(isEscalated || isReopened ? { handling: 'kept' } : {}),
    ...(isReopened ? { resolvedAt: null, resolvedBy: null, resolution: null } : {}),
    ...(isReopened || isRestated || isConfirmed ? { amount, currency, source, evidence, transactionId } : {}),
  };
}

/** src/orders/model/unmatched-money.ts. */
function isDone(row: UnmatchedRow, isRefunding: (key: AttemptKey) => boolean): boolean {
  return SETTLED_HANDLINGS.includes(row.handling) || (row.handling === 'refunding' && !isRefunding(row));
}

import {
  type LockedOrder,
  isUndecided,
  type OrderStatus,
  isBooked,
  isSameAttempt,
  isSameRow,
  isSettledReport,
  isUnconfirmed,
  type PaymentAttempt,
} from '../../src/orders/model/order';
import { checkUnits, isItsFailure } from './check-units';
import { checkHistory } from './check-history';
import { isFailedRefund, needsPerson } from './needs-person';
import { type Unit } from './provider-payment';
import { type Shop } from './shop';
import { isAskedAbout, unitOf } from './truth';
import { type UnmatchedRow } from './unmatched-table';

/** What must not be, by the column of the table that it is counted in. */
export interface Violation {
  readonly type:
    | 'charged'
    | 'overcharged'
    | 'lost'
    | 'twice'
    | 'stolen'
    | 'stale'
    | 'stock'
    | 'endless'
    | 'history'
    | 'refund'
    | 'early'
    | 'unjust'
    | 'doubled'
    | 'fault';
  readonly text: string;
}

/** Compares what we believe with what providers and goods really are, once nothing is going to happen any more. */
export function checkEnd(shop: Shop): { violations: Violation[]; parked: number } {
  const violations: Violation[] = [];
  for (const order of shop.world.store.all()) {
    violations.push(...checkMoney(shop, order), ...checkNames(shop, order));
    violations.push(...checkStock(shop, order), ...checkHistory(shop, order));
  }
  for (const text of shop.world.store.stock.problems()) violations.push({ type: 'stock', text });
  violations.push(...checkUnits(shop));
  const rest = checkRest(shop);
  return { violations: [...violations, ...rest.violations], parked: rest.parked };
}

/** One payment is booked once, however many names it has. */
function checkNames(shop: Shop, { id, attempts, autoClose, isErased }: LockedOrder): Violation[] {
  // What a liar says of an order is not true, and an erased one cannot know; a person is asked.
  if (shop.liars.has(id) || isErased) return [];
  const counted = attempts.filter((attempt) => isBooked(attempt) && !isSettledReport(attempt));
  const units = new Set(counted.flatMap((attempt) => unitOf(shop, attempt) ?? []));
  const namesOf = (unit: Unit): PaymentAttempt[] => counted.filter((attempt) => unitOf(shop, attempt) === unit);
  if (![...units].some((unit) => isDoubled(namesOf(unit), autoClose))) return [];
  return [{ type: 'doubled', text: `${id} counts a payment twice` }];
}

/**
 * Two reports may give one payment two names. Once a person has settled both, neither counts as money; and where no
 * deadline asks the provider, nobody can know that they are one.
 */
function isDoubled(names: readonly PaymentAttempt[], autoClose: boolean): boolean {
  if (names.length < 2 || names.every(({ status }) => status === 'SETTLED')) return false;
  return autoClose || !names.every(isUnconfirmed);
}

/** What the provider really holds for an attempt, by currency. */
export function heldFor(
  shop: Shop,
  attempt: PaymentAttempt,
): { amount: bigint; currency: string; unit: Unit | undefined } {
  const unit = unitOf(shop, attempt);
  return { amount: unit?.held ?? 0n, currency: unit?.currency ?? '', unit };
}

function checkMoney(shop: Shop, order: LockedOrder): Violation[] {
  // Another name of a payment that is there holds nothing of its own, nor does a report that was settled.
  const isEmpty = ({ status, registered, paidSource }: PaymentAttempt): boolean =>
    status === 'DUPLICATE' || (status === 'SETTLED' && !registered && paidSource !== 'provider');
  const held = order.attempts
    .filter((attempt) => !isEmpty(attempt))
    .map((attempt) => ({ attempt, ...heldFor(shop, attempt) }))
    .filter(({ amount }) => amount > 0n);
  const sum = (own: typeof held): bigint =>
    own.filter(({ currency }) => currency === order.currency).reduce((total, { amount }) => total + amount, 0n);
  const isTrue = !shop.liars.has(order.id);
  if (order.status !== 'PAID') {
    return held.flatMap(({ attempt, amount }): Violation[] => {
      if (isKept(shop, order, attempt)) return [];
      return [
        { type: 'charged', text: `${order.id} is ${order.status}, and ${amount} are kept for ${attempt.reference}` },
      ];
    });
  }
  const missing: Violation[] = [{ type: 'charged', text: `${order.id} is PAID, and only ${sum(held)} are there` }];
  // A report that names another attempt of the order hides which of its payments is there. So does one that names no
  // transaction of several: the provider has told of a smaller one, and an open row asks how much is there.
  const isAsked = hasOpenPart(shop, order);
  const isHidden = order.attempts.some(isUnconfirmed) || isAsked;
  const isThere = sum(held) + askedAbout(shop, order) >= order.amount || (isHidden && hasPaid(shop, order, isAsked));
  const spent = held.filter(({ attempt }) => !isKept(shop, order, attempt));
  // A payment that is booked under two names, as by a liar, is there once. `checkNames` tells of the second name.
  // A liar may state less than what another buyer has paid, and nobody can know more.
  const seen = isTrue ? spent : spent.map((one) => ({ ...one, amount: statedAmount(one) }));
  const surplus = seen.filter((one) => sum(seen.filter(({ unit }) => unit !== one.unit)) >= order.amount);
  return [
    ...(!isThere && isTrue ? missing : []),
    ...surplus.map(({ attempt }): Violation => ({
      type: 'overcharged',
      text: `${order.id} does not need ${attempt.reference}`,
    })),
  ];
}

function hasOpenPart({ world: { store } }: Shop, { id }: LockedOrder): boolean {
  const isPart = (row: UnmatchedRow): boolean => row.reason === 'amount-mismatch' && row.source === 'provider';
  return store.unmatched.open().some((row) => row.orderId === id && isPart(row));
}

/** What a person has paid back of the order's money, while an open row asks about it. */
function askedAbout(shop: Shop, { attempts, currency }: LockedOrder): bigint {
  const paid = attempts.filter(({ status }) => status === 'PAID');
  const units = paid.flatMap((attempt) => {
    const unit = unitOf(shop, attempt);
    return unit?.currency === currency && isAskedAbout(shop, unit, isUnconfirmed(attempt)) ? [unit] : [];
  });
  return [...new Set(units)].reduce((sum, unit) => sum + unit.paidBack, 0n);
}

/** What the books say at most of a payment that only a report vouches for. */
function statedAmount({ attempt, amount }: { readonly attempt: PaymentAttempt; readonly amount: bigint }): bigint {
  const { paidAmount } = attempt;
  return isUnconfirmed(attempt) && paidAmount !== null && paidAmount < amount ? paidAmount : amount;
}

/** Whether the buyer has really paid the order. @param isAsked whether an open row asks what a person has paid back of it */
function hasPaid(shop: Shop, { id, amount, currency }: LockedOrder, isAsked: boolean): boolean {
  const own = shop.payments().filter(({ owner }) => owner === id);
  const units = own.flatMap((payment) => payment.units).filter((unit) => unit.currency === currency);
  return units.reduce((sum, { held, paidBack }) => sum + held + (isAsked ? paidBack : 0n), 0n) >= amount;
}

/** Whether a person decides about this money, and was told: by the parked timeout, or by the unmatched payment. */
function isKept(shop: Shop, order: LockedOrder, attempt: PaymentAttempt): boolean {
  const { policy, world } = shop;
  const unit = unitOf(shop, attempt);
  const open = world.store.unmatched.open();
  // It came back from the bank, which nobody was told, or a person was.
  if (unit?.hasComeBack && (!unit.isHeard || open.some((row) => isItsFailure(shop, row, unit)))) return true;
  // Under whatever name of the payment.
  const isIts = (row: UnmatchedRow): boolean =>
    isSameAttempt(row, attempt) || (unit !== undefined && unitOf(shop, row) === unit);
  const isTold = world.store.unmatched.all().some((row) => row.handling === 'kept' && isIts(row));
  // Nobody asks about the attempt of such an order, whatever a liar has the provider say under another name.
  if (isUndecided(order.status) && !order.autoClose) return isTold || unit?.isNamed !== true;
  // A person had settled it as a mere report, so it counts as no money. The list says that the provider has confirmed it.
  const isTheWord = ({ source, handling }: UnmatchedRow): boolean => source === 'provider' && handling === 'kept';
  if (attempt.status === 'SETTLED') return open.some((row) => isTheWord(row) && isSameRow(row, attempt));
  if (isUndecided(order.status)) return needsPerson(shop, order.id) && attempt.status === 'PAID';
  // A report stated less than what was paid, so the excess seemed to be a part.
  const isOverpaid = open.some(({ reason, orderId }) => reason === 'overpaid' && orderId === order.id);
  if (isOverpaid && order.attempts.some(isUnconfirmed)) return true;
  const ofEnded = order.status === 'PAID' ? policy.surplusPayment : policy.latePayment;
  // What nobody had registered, or nobody but the shop vouches for, or another order claims or claimed, waits for a person under every policy.
  const isClaimed = shop.liars.size > 0 || world.store.bookedElsewhere(order.id, attempt).length > 0;
  // A provider that answered from an old copy has denied what pays the order, so nobody knows what is surplus.
  const isDenied = order.status === 'PAID' && order.attempts.some(isUnconfirmed);
  const isDoubtful = !attempt.registered || isUnconfirmed(attempt) || isClaimed || isDenied || order.isErased === true;
  return (ofEnded === 'keep' || isDoubtful) && isTold && attempt.status === 'PAID';
}

/** Money that came so shortly before its order, or after it, is for nobody else. */
const EARLY_MS = 120_000;

const STOCK_OF: Record<OrderStatus, string> = {
  PENDING: 'RESERVED',
  CLOSING: 'RESERVED',
  PAID: 'COMMITTED',
  CLOSED: 'RELEASED',
  CANCELLED: 'RELEASED',
  REFUNDING: 'RELEASED',
  CLOSED_REFUNDED: 'RELEASED',
};

function checkStock({ world: { store } }: Shop, { id, status }: LockedOrder): Violation[] {
  const state = store.stock.stateOf(id);
  return state === STOCK_OF[status] ? [] : [{ type: 'stock', text: `${id} is ${status}, its goods are ${state}` }];
}

function checkRest(shop: Shop): { violations: Violation[]; parked: number } {
  const { store, engine } = shop.world;
  const rows = engine.table.all();
  const good = rows.filter(
    (row) => row.state === 'parked' && (needsPerson(shop, row.key) || isFailedRefund(shop, row)),
  );
  const violations: Violation[] = [];
  for (const row of rows.filter((candidate) => !good.includes(candidate))) {
    violations.push({ type: 'endless', text: `${row.kind} ${row.key} is ${row.state}: ${row.lastError}` });
  }
  for (const { id, status, autoClose, createdAt, attempts } of store.all()) {
    const isOpen = status === 'PENDING' || status === 'CLOSING' || status === 'REFUNDING';
    const isLeft = status === 'PENDING' && !autoClose;
    if (isOpen && !isLeft && !rows.some((row) => row.key === id) && !isRefunding(shop, id)) {
      violations.push({ type: 'endless', text: `${id} is ${status}, and nobody will look at it again` });
    }
    // What a person had settled as a mere report is told once more, and is not money.
    const isSettled = (row: UnmatchedRow): boolean =>
      attempts.some((attempt) => attempt.status === 'SETTLED' && isSameAttempt(attempt, row)) ||
      store.handled.find(row).some(({ fate, isUncertain }) => fate === 'settled' && !isUncertain);
    const isEarly = ({ createdAt: at }: UnmatchedRow): boolean => Math.abs(+at - +createdAt) < EARLY_MS;
    const early = store.adoptable(id).filter((row) => isEarly(row) && !isSettled(row));
    if (early.length > 0) violations.push({ type: 'endless', text: `${id} is there, and its early money is kept` });
  }
  return { violations, parked: good.length };
}

function isRefunding({ world: { store } }: Shop, orderId: string): boolean {
  return [...store.refunds.values()].some((refund) => refund.orderId === orderId && refund.status === 'PENDING');
}

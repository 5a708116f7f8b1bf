import {
  type LockedOrder,
  isSameAttempt,
  isSamePayment,
  isUnconfirmed,
  type PaymentAttempt,
} from '../../src/orders/model/order';
import { type Violation } from './check-end';
import { type ProviderPayment, type Unit } from './provider-payment';
import { type Shop } from './shop';
import { type UnmatchedRow } from './unmatched-table';
import { isAskedAbout, paymentOf, stated, unitOf } from './truth';

/** One unit of money at a provider, and the payment that it came with. */
interface Held {
  readonly payment: ProviderPayment;
  readonly unit: Unit;
}

/** A PAID order that counts on this money. */
interface Claim {
  readonly order: LockedOrder;
  readonly attempt: PaymentAttempt;
}

/**
 * The global oracle: each unit of money at a provider is needed by exactly one PAID order, or returned, or visible in an
 * open row. It asks about the money, and not about the orders, so it also sees money that no order has.
 */
export function checkUnits(shop: Shop): Violation[] {
  const claims = claimsOf(shop);
  const units = shop.payments().flatMap((payment) => payment.units.map((unit) => ({ payment, unit })));
  return [
    ...units.flatMap((held) => checkUnit(shop, held, claims.get(held.unit) ?? [])),
    ...shop.world.store.all().flatMap((order) => checkExcess(shop, order)),
  ];
}

/** What a PAID order has and does not need is visible, even if it needs a part of each payment. */
function checkExcess(shop: Shop, order: LockedOrder): Violation[] {
  if (order.status !== 'PAID' || shop.liars.has(order.id)) return [];
  const paid = order.attempts.filter(({ status }) => status === 'PAID').map((attempt) => unitOf(shop, attempt));
  const units = [...new Set(paid)].filter((unit) => unit?.currency === order.currency);
  const excess = units.reduce((sum, unit) => sum + (unit?.held ?? 0n), -order.amount);
  const rows = shop.world.store.unmatched.open().filter((row) => units.includes(unitOf(shop, row)));
  // Who looks at what a report states, or at what is no amount, sees all of the payment.
  const isStated = ({ source, reason }: UnmatchedRow): boolean => source === 'provider' && reason !== 'invalid-amount';
  const shownBy = (row: UnmatchedRow): bigint => (isStated(row) ? BigInt(row.amount) : (unitOf(shop, row)?.held ?? 0n));
  const shown = rows.reduce((sum, row) => sum + shownBy(row), 0n);
  if (excess <= shown) return [];
  return [{ type: 'lost', text: `${order.id} is PAID with ${excess} too much, and ${shown} of it are shown` }];
}

function checkUnit(shop: Shop, held: Held, claims: readonly Claim[]): Violation[] {
  const { unit } = held;
  if (unit.held < 0n) return [violation('twice', held, `was returned twice: ${-unit.held} too much`)];
  const isVisible = isInOpenRow(shop, held) || isInParkedTimeout(shop, held);
  const [claim, other] = claims;
  if (claim && other && !isVisible && isKnownTwice(shop, unit, claim, other))
    return [violation('twice', held, `pays ${claim.order.id} and ${other.order.id}`)];
  if (claim && !other) return checkClaim(shop, held, claim, isVisible);
  // A person who pays a mere report back is asked once more when the provider confirms it.
  const doubtful = isVisible && unit.held === 0n && !unit.paidBack ? firmRow(shop, held) : undefined;
  if (doubtful) return [violation('stale', held, `was returned, and a row invites to: ${doubtful.reason}`)];
  if (claim || unit.held === 0n || isVisible || !unit.isHeard) return [];
  return [violation('lost', held, `${unit.held} are at the provider, and nobody knows`)];
}

/**
 * That two names are one payment only the provider could tell. Of a payment that was reported under its id it has named the
 * reference, too, but no attempt has that: only a report that names it as the id of another payment shows that it is known.
 */
function isKnownTwice({ world: { store } }: Shop, { isHeard }: Unit, claim: Claim, other: Claim): boolean {
  if (!isHeard) return claim.attempt.reference === other.attempt.reference;
  const others = (order: LockedOrder): PaymentAttempt[] =>
    [...store.all(), ...store.purged].filter(({ id }) => id !== order.id).flatMap(({ attempts }) => attempts);
  const isFound = ({ order, attempt }: Claim): boolean => others(order).some((one) => isSamePayment(one, attempt));
  const isBareReport = ({ attempt }: Claim): boolean => isUnconfirmed(attempt) && !attempt.registered;
  return [claim, other].every((one) => !isBareReport(one) || isFound(one));
}

/** The order may have this money only if it came from its buyer, or a person has said so. */
function checkClaim(shop: Shop, held: Held, { order, attempt }: Claim, isVisible: boolean): Violation[] {
  const { owner } = held.payment;
  if (owner !== order.id && !isVisible && !shop.isAssigned(held.payment, order.id) && isRegisteredBy(shop, held)) {
    return [violation('stolen', held, `the buyer of ${owner} has paid ${order.id}`)];
  }
  // If only a report has linked it to the order, or did so at first, a person is asked.
  const isLinked = !isUnconfirmed(attempt) && attempt.reference === held.payment.traits.reference;
  const isOffered = isLinked && hasRow(shop, held, 'unknown-order');
  if (isOffered) return [violation('twice', held, `pays ${order.id}, and a row offers it to another order`)];
  if (shop.liars.has(order.id)) return [];
  const isShort =
    held.unit.held < (attempt.paidAmount ?? 0n) && !isUnconfirmed(attempt) && !isAskedAbout(shop, held.unit);
  return isShort ? [violation('twice', held, `pays ${order.id}, and was returned`)] : [];
}

/**
 * Of money whose reference nobody has registered, or the provider has never named, only reports tell whose it is: the first
 * order in time gets it.
 */
function isRegisteredBy({ world: { store } }: Shop, { payment, unit }: Held): boolean {
  if (!unit.isNamed) return false;
  const owner = store.has(payment.owner) ? store.lock(payment.owner) : undefined;
  return owner?.attempts.some((one) => one.registered && one.reference === payment.traits.reference) ?? false;
}

/** What PAID orders count on: as they are, or as they were when they were purged. */
function claimsOf(shop: Shop): ReadonlyMap<Unit, Claim[]> {
  const claims = new Map<Unit, Claim[]>();
  const { store } = shop.world;
  for (const order of [...store.all(), ...store.purged].filter(({ status }) => status === 'PAID')) {
    for (const attempt of order.attempts.filter(({ status }) => status === 'PAID')) {
      const unit = unitOf(shop, attempt);
      if (unit) claims.set(unit, [...(claims.get(unit) ?? []), { order, attempt }]);
    }
  }
  return claims;
}

function isInOpenRow(shop: Shop, { unit }: Held): boolean {
  // A transaction id that the provider has stated names its money, whatever reference the row has.
  const isItsRow = (row: UnmatchedRow): boolean => unitOf(shop, row) === unit || stated(shop, row) === unit;
  return shop.world.store.unmatched.open().some((row) => isItsRow(row) || isItsFailure(shop, row, unit));
}

/**
 * Whether the row says that the refund of this money has failed. The console shows of which transaction, even if the order
 * was erased and the row does not say it.
 */
export function isItsFailure(shop: Shop, row: UnmatchedRow, unit: Unit): boolean {
  if (!unit.hasComeBack || row.reason !== 'refund-failed') return false;
  if (unitOf(shop, row) === unit) return true;
  const isUnnamed = row.transactionId === null && BigInt(row.amount) >= unit.held;
  return isUnnamed && (paymentOf(shop, row)?.units.includes(unit) ?? false);
}

function hasRow(shop: Shop, { unit }: Held, reason: UnmatchedRow['reason']): boolean {
  return shop.world.store.unmatched.open().some((row) => row.reason === reason && unitOf(shop, row) === unit);
}

/** Rows that say whose money it is; the others ask about it, or after a purge whether a refund has failed. */
function firmRow(shop: Shop, { unit }: Held): UnmatchedRow | undefined {
  const isFirm = (reason: string): boolean => !['attempt-mismatch', 'refund-failed', 'invalid-amount'].includes(reason);
  return shop.world.store.unmatched.open().find((row) => isFirm(row.reason) && unitOf(shop, row) === unit);
}

/** Its order, or its refund, is left to a person. */
function isInParkedTimeout(shop: Shop, { unit }: Held): boolean {
  const { store, engine } = shop.world;
  const parked = engine.table.all().filter(({ state }) => state === 'parked');
  if (parked.length === 0) return false;
  const isHere = ({ attempts, id }: LockedOrder): boolean =>
    attempts.some((attempt) => {
      if (unitOf(shop, attempt) !== unit) return false;
      const refund = [...store.refunds.values()].find((one) => isSameAttempt(one, attempt));
      return parked.some(({ key }) => key === id || key === refund?.number);
    });
  return store.all().some(isHere);
}

function violation(type: Violation['type'], { payment, unit }: Held, text: string): Violation {
  return { type, text: `${unit.transactionId} of ${payment.traits.reference} ${text}` };
}

import { type AttemptKey, type PaidSource } from '../../src/orders/model/order';
import { type ProviderPayment, type Unit } from './provider-payment';
import { type Shop } from './shop';
import { type UnmatchedRow } from './unmatched-table';

type Named = AttemptKey & {
  readonly transactionId: string | null;
  readonly source?: PaidSource;
  readonly paidSource?: PaidSource | null;
  readonly registered?: boolean;
};

/** What the provider really has under this name, or its own id; also after its reference was erased here. */
export function paymentOf(shop: Shop, key: AttemptKey): ProviderPayment | undefined {
  const provider = shop.world.providerOf(key);
  const isHere = ({ units }: ProviderPayment): boolean => units.some((unit) => isOwnId(unit, key));
  return provider.find(key.reference) ?? provider.all().find(isHere) ?? shop.erased(key);
}

function isOwnId({ transactionId }: Unit, { reference }: AttemptKey): boolean {
  return transactionId === reference;
}

/** The money that these names mean: the first of the payment, if they do not name a transaction of it. */
export function unitOf(shop: Shop, named: Named): Unit | undefined {
  const { units = [] } = paymentOf(shop, named) ?? {};
  const unit = units.find((one) => one.transactionId === named.transactionId || isOwnId(one, named));
  const [meant] = namedPayment(shop, named)?.units ?? [];
  return unit ?? stated(shop, named) ?? shop.erasedUnit(named) ?? meant ?? units[0] ?? unitOnBooks(shop, named);
}

/**
 * What a report calls a transaction may be the reference of a payment. A person looks for both in the console: for the
 * second if there is nothing under the first, and only if the provider has confirmed the payment where the first is known.
 */
function namedPayment(
  { world }: Shop,
  { transactionId, registered, source, paidSource, ...key }: Named,
): ProviderPayment | undefined {
  const provider = world.providerOf(key);
  const isOwn = registered === true || provider.find(key.reference) !== undefined;
  if (transactionId === null || (isOwn && (paidSource ?? source) !== 'provider')) return undefined;
  return provider.find(transactionId);
}

/** The money that a shop has under a number of its own, see `reportPayment`. */
function unitOnBooks(shop: Shop, { reference }: AttemptKey): Unit | undefined {
  const units = shop.payments().flatMap((payment) => payment.units);
  return reference.startsWith('books-') ? units.find((one) => `books-${one.transactionId}` === reference) : undefined;
}

/** What somebody sees in the provider's console: by the transaction id, if the provider has stated it. */
export function unitSeen(shop: Shop, row: UnmatchedRow): Unit | undefined {
  return stated(shop, row) ?? unitOf(shop, row);
}

/** The money whose transaction id the provider has stated. Two merchants may number theirs alike. */
export function stated(shop: Shop, { source, paidSource, transactionId, ...key }: Named): Unit | undefined {
  if (source !== 'provider' && paidSource !== 'provider') return undefined;
  const payments = shop.world.providerOf(key).all();
  return payments.flatMap(({ units }) => units).find((unit) => unit.transactionId === transactionId);
}

/** Whether a PAID order counts on this money. */
export function isNeeded(shop: Shop, unit: Unit): boolean {
  const { store } = shop.world;
  const paid = [...store.all(), ...store.purged].filter(({ status }) => status === 'PAID');
  return paid.some(({ attempts }) => attempts.some((one) => one.status === 'PAID' && unitOf(shop, one) === unit));
}

/**
 * Whether a person has paid this money back past the provider, which the product cannot see, and an open row asks a person
 * whether this very payment is there. @param isReported whether only a report says that it is, so a report's row asks, too
 */
export function isAskedAbout(shop: Shop, unit: Unit, isReported = false): boolean {
  const isQuestion = ({ reason, handling, source }: UnmatchedRow): boolean =>
    (reason === 'attempt-mismatch' && (isReported || source === 'provider')) ||
    (reason === 'surplus' && handling === 'kept' && source === 'provider');
  const asked = shop.world.store.unmatched.open().filter(isQuestion);
  return unit.paidBack > 0n && asked.some((row) => unitOf(shop, row) === unit);
}

/** Whether this money is on its way back. */
export function isReturning(shop: Shop, unit: Unit): boolean {
  const attempts = shop.world.store.all().flatMap((order) => order.attempts);
  return attempts.some((one) => one.status === 'REFUNDING' && unitOf(shop, one) === unit);
}

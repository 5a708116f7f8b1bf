import { epochMs } from '../support/checks/records';
import { type Bank } from './bank';
import { type BankPayment, type Intent } from './bank-books';
import { WIRE } from './clerk';
import { CURRENCY } from './habits';
import { type Kernel } from './kernel';
import { type PastFacts } from './past';
import { type Stage } from './stage';

interface OrderFacts {
  readonly id: string;
  readonly status: string;
  readonly expiresAt: number;
  readonly closingReason: string | null;
  /** When it was closed, or began to be. */
  readonly closingAt: number | null;
  /** When it was first closed or canceled for good. */
  readonly endedAt: number | null;
  /** Nothing closes its attempts any more until a person has read why. */
  readonly isParked: boolean;
}

const ENDED_UNPAID = ['CLOSED', 'CANCELLED', 'REFUNDING', 'CLOSED_REFUNDED'];

/** What the service did with orders in the end, against what buyers did, by the bank's books. */
export async function orderProblems(
  kernel: Kernel,
  stage: Stage,
  bank: Bank,
  { erased }: PastFacts,
): Promise<string[]> {
  const orders = await kernel.query<OrderFacts>(ORDERS);
  const free = orders.filter(({ id }) => !erased.has(id) && !stage.touched.has(id));
  return [
    ...free.filter(isEarly).map(({ id }) => `${id} was closed before its deadline`),
    ...free.flatMap((order) => unjustProblems(order, bank)),
    ...free.flatMap((order) => waitingProblems(order, bank)),
    ...free.flatMap((order) => lateOffers(order, stage)),
    ...orders.filter(({ id }) => !erased.has(id)).flatMap((order) => payableProblems(order, bank, kernel.time.now)),
    ...(await kernel.query<ShownFacts>(SHOWN)).map(
      ({ id, excess, currency, shown }) => `${id} has ${excess} ${currency} too much, and rows show ${shown}`,
    ),
    ...(
      await kernel.query<{ says: string }>(
        `${SHORT} UNION ALL ${PARKED} UNION ALL ${UNADOPTED} UNION ALL ${EARLY} UNION ALL ${PHANTOM}`,
      )
    ).map(({ says }) => says),
    ...(await kernel.query<{ id: string; other: string; says: string }>(SHARED))
      .filter(({ id, other }) => !stage.touched.has(id) && !stage.touched.has(other))
      .map(({ says }) => says),
    ...(await kernel.query<{ id: string; says: string }>(UNCERTAIN))
      .filter(({ id }) => !stage.touched.has(id))
      .map(({ says }) => says),
    ...deniedProblems(await kernel.query<DeniedFacts>(DENIED), stage, bank),
    ...(await transferProblems(kernel, stage)),
    ...strangeRows(await kernel.query<StatedRow>(STATED), bank),
  ];
}

/** What closes attempts that nobody needs: before the end of an order, and after it. Parked, a person reads that it cannot. */
const CLOSING_KINDS = "'order.payment', 'order.late-watch'";

const ORDERS = `
  SELECT o.id, o.status, o.closing_reason AS "closingReason", ${epochMs('o.expires_at')} AS "expiresAt",
         (SELECT ${epochMs('min(h.occurred_at)')} FROM order_timeout.order_history h
           WHERE h.order_id = o.id AND h.to_status IN ('CLOSING', 'CLOSED', 'CANCELLED')) AS "closingAt",
         (SELECT ${epochMs('min(h.occurred_at)')} FROM order_timeout.order_history h
           WHERE h.order_id = o.id AND h.to_status IN ('CLOSED', 'CANCELLED')) AS "endedAt",
         EXISTS (SELECT FROM order_timeout.timeout t
                  WHERE t.key = o.id AND t.state = 'parked' AND t.kind IN (${CLOSING_KINDS})) AS "isParked"
    FROM order_timeout.orders o`;

function isEarly({ closingReason, closingAt, expiresAt }: OrderFacts): boolean {
  return closingReason === 'expired' && closingAt !== null && closingAt < expiresAt;
}

/**
 * A buyer who has paid in full before the closing began has bought, if nobody has sent the money back meanwhile. So has one
 * whose payment the bank stated before the end, unless it came after a close.
 */
function unjustProblems({ id, status, closingAt, endedAt, closingReason }: OrderFacts, bank: Bank): string[] {
  if (!ENDED_UNPAID.includes(status)) return [];
  const isClosed = (one: BankPayment): boolean => bank.intentOf(one)?.closedAt !== undefined;
  const isStated = (one: BankPayment): boolean =>
    closingReason === 'expired' && endedAt !== null && (one.statedAt ?? Infinity) <= endedAt && !isClosed(one);
  const isInTime = (one: BankPayment): boolean => (closingAt !== null && one.paidAt < closingAt) || isStated(one);
  return wholePayments(id, bank)
    .filter(isInTime)
    .map(({ transactionId }) => `${id} is ${status}, and was paid in time (${transactionId})`);
}

/** Without a deadline, the news decides. */
function waitingProblems({ id, status }: OrderFacts, bank: Bank): string[] {
  if (status !== 'PENDING' && status !== 'CLOSING') return [];
  const told = wholePayments(id, bank).filter(({ isTold }) => isTold);
  return told.map(({ transactionId }) => `${id} is ${status}, and ${transactionId}, which pays it, was told`);
}

/** What ends is offered to nobody any more. */
function lateOffers({ id, status, closingAt }: OrderFacts, { handedOver }: Stage): string[] {
  if (!ENDED_UNPAID.includes(status) || closingAt === null) return [];
  return handedOver
    .filter(({ orderId, began }) => orderId === id && began > closingAt)
    .map(({ reference }) => `${reference} was handed over when ${id} was being closed`);
}

/** Payments for what is registered that are enough alone, and that nobody has taken back. */
function wholePayments(id: string, bank: Bank): BankPayment[] {
  const isIts = (one: BankPayment): boolean => one.orderId === id && bank.intentOf(one)?.isRegistered === true;
  const isWhole = (one: BankPayment): boolean =>
    one.currency === CURRENCY && one.amount >= (bank.intentOf(one)?.amount ?? 0n);
  // The provider tells one of several payments under a reference, which may be a part, and the others only by news.
  const isAlone = (one: BankPayment): boolean => bank.paymentsOf(one).length === 1;
  const whole = bank.payments.filter((one) => isIts(one) && isWhole(one) && isAlone(one));
  return whole.filter((one) => !one.isDisputed && !one.isWired);
}

/** Nobody can pay for an order that has ended, from the moment at which it ended unpaid. */
function payableProblems({ id, status, closingAt, endedAt, isParked }: OrderFacts, bank: Bank, now: number): string[] {
  // What only a shop says may be wrong. What is parked, a person reads.
  const isPaid = status === 'PAID' && !isParked && wholePayments(id, bank).some(({ refunded }) => refunded === 0n);
  if (!isPaid && !ENDED_UNPAID.includes(status)) return [];
  const registered = [...bank.intents.values()].filter((intent) => intent.orderId === id && intent.isRegistered);
  const unused = registered.filter((intent) => bank.paymentsOf(intent).length === 0);
  const endOf = ({ closedAt = Infinity, expiresAt }: Intent): number => Math.min(closedAt, expiresAt);
  const isLate = (intent: Intent): boolean =>
    closingAt !== null && endedAt !== null && intent.openedAt < closingAt && endOf(intent) > endedAt;
  // What is registered may be offered at any time, unless it has expired. Then, the bank refuses it.
  const isOffered = (intent: Intent): boolean =>
    endedAt !== null && intent.openedAt > endedAt && intent.expiresAt > intent.openedAt;
  return [
    ...registered
      .filter((intent) => status !== 'PAID' && isOffered(intent))
      .map(({ reference }) => `${id} was ${status} before ${reference} was offered`),
    ...unused
      .filter((intent) => endOf(intent) > now)
      .map(({ reference }) => `${id} is ${status}, and ${reference} is open`),
    ...unused
      .filter((intent) => status !== 'PAID' && isLate(intent))
      .map(({ reference }) => `${id} was ${status} before ${reference} was closed`),
  ];
}

interface ShownFacts {
  readonly id: string;
  readonly excess: string;
  readonly currency: string;
  readonly shown: string;
}

/**
 * PAID orders of which a person reads that more or less is spare than is: he would pay back what pays the order, or not all.
 * A report that was settled as wrong counts as no money for its order, also if the payment comes after all: all of it is spare.
 */
const SHOWN = `
  SELECT id, excess, currency, shown FROM (
    SELECT o.id, o.currency, greatest(o.held - o.price, 0)::text AS excess,
           (SELECT coalesce(sum(p.amount), 0) FROM order_timeout.unmatched_payment p
             WHERE p.order_id = o.id AND p.currency = o.currency AND p.handling IN ('kept', 'waiting')
                   AND (p.reason IN ('late', 'surplus', 'overpaid')
                        OR p.reason = 'currency-mismatch' AND o.price = 0)
                   AND NOT EXISTS (SELECT FROM order_timeout.payment_attempt a
                                    WHERE a.order_id = o.id AND a.status = 'SETTLED' AND a.paid_source = 'provider'
                                          AND (a.provider, a.reference, a.merchant_account, a.paid_amount)
                                            = (p.provider, p.reference, p.merchant_account, p.amount)))::text AS shown
      FROM (SELECT o.id, a.paid_currency AS currency, sum(a.paid_amount - a.refunded_amount) AS held,
                   CASE WHEN a.paid_currency = o.currency THEN o.amount ELSE 0 END AS price
              FROM order_timeout.orders o JOIN order_timeout.payment_attempt a ON a.order_id = o.id
             WHERE o.status = 'PAID' AND a.status = 'PAID' GROUP BY o.id, a.paid_currency) o) o
   WHERE excess <> shown`;

/**
 * PAID orders that have too little, of which nobody reads or has settled that, or that another order has the payment, and
 * those that have enough, of which somebody reads that it is too little.
 */
const SHORT = `
  SELECT id || ' has ' || held || ' of ' || amount || ', and ' || told || ' rows say that it is too little' AS says FROM (
    SELECT o.id, o.amount, o.erased_at,
           (SELECT coalesce(sum(a.paid_amount - a.refunded_amount), 0) FROM order_timeout.payment_attempt a
             WHERE a.order_id = o.id AND a.status = 'PAID' AND a.paid_currency = o.currency) AS held,
           (SELECT count(*) FROM order_timeout.unmatched_payment p
             WHERE p.order_id = o.id AND p.handling IN ('kept', 'waiting')
                   AND p.reason IN ('amount-mismatch', 'currency-mismatch')) AS told,
           EXISTS (SELECT FROM order_timeout.unmatched_payment p
                    WHERE p.order_id = o.id
                          AND (p.reason = 'attempt-mismatch' AND p.handling IN ('kept', 'settled')
                               OR p.reason IN ('amount-mismatch', 'currency-mismatch') AND p.handling = 'settled')) AS known
      FROM order_timeout.orders o WHERE o.status = 'PAID') o
   WHERE (CASE WHEN held < amount THEN told = 0 AND NOT known ELSE told > 0 END) AND erased_at IS NULL`;

/** Whoever cancels an order has decided about a part of its price that has come for certain, and for it. */
const PARKED = `
  SELECT o.id || ' is canceled and waits for a person: ' || t.last_error
    FROM order_timeout.orders o JOIN order_timeout.timeout t ON t.key = o.id AND t.kind = 'order.payment'
   WHERE o.status = 'CLOSING' AND o.closing_reason = 'cancelled' AND t.state = 'parked'
         AND EXISTS (SELECT FROM order_timeout.payment_attempt a WHERE a.order_id = o.id AND a.status = 'PAID')
         AND NOT EXISTS (SELECT FROM order_timeout.payment_attempt a
                          WHERE a.order_id = o.id AND (a.status IN ('CREATED', 'OPEN') OR a.status = 'PAID'
                                AND (a.paid_source = 'report' OR NOT a.registered)))
         AND NOT EXISTS (SELECT FROM order_timeout.unmatched_payment p
                          WHERE p.order_id = o.id AND p.handling IN ('kept', 'waiting') AND p.reason <> 'amount-mismatch')`;

/** Orders without a deadline, of which a shop and the bank have told before they were placed that they are paid. */
const UNADOPTED = `
  SELECT o.id || ' is PENDING, and does not have ' || told.reference
    FROM order_timeout.orders o JOIN order_timeout.unmatched_payment told ON told.order_id = o.id
   WHERE o.status = 'PENDING' AND NOT o.auto_close AND told.source = 'provider' AND told.reason = 'unknown-order'
         AND told.handling = 'kept' AND told.amount >= o.amount AND told.currency = o.currency
         AND told.created_at < o.created_at AND told.created_at > o.created_at - interval '10 minutes'
         AND NOT EXISTS (SELECT FROM order_timeout.unmatched_payment p
                          WHERE p.order_id = o.id AND p.reason IN ('chargeback', 'attempt-mismatch'))`;

/** Orders that had something open when they were erased. */
const EARLY = 'SELECT says FROM sim.erased_early';

/** Nothing is surplus while only a shop says what pays the order. */
const UNCERTAIN = `
  SELECT o.id, o.id || ' was refunded a surplus, and is not paid by what its provider confirms' AS says
    FROM order_timeout.orders o
   WHERE o.status = 'PAID' AND o.erased_at IS NULL
         AND EXISTS (SELECT FROM order_timeout.refund r WHERE r.order_id = o.id AND r.reason = 'surplus')
         AND (SELECT coalesce(sum(a.paid_amount - a.refunded_amount), 0) FROM order_timeout.payment_attempt a
               WHERE a.order_id = o.id AND a.status = 'PAID' AND a.paid_source = 'provider'
                     AND a.paid_currency = o.currency) < o.amount`;

/** What a shop calls a payment in its own books is never a payment of its own. */
const PHANTOM = `
  SELECT order_id || ' has ' || reference || ' beside the payment that it is' FROM order_timeout.payment_attempt
   WHERE reference LIKE 'book-%'`;

/** Claims to a payment that another order has for certain, and needs; and orders that share one, of which nobody reads. */
const SHARED = `
  SELECT c.order_id AS id, a.order_id AS other, c.order_id || ' has ' || a.transaction_id || ', too, which is of ' || a.order_id AS says
    FROM order_timeout.payment_attempt a JOIN order_timeout.orders o ON o.id = a.order_id AND o.status = 'PAID'
    JOIN order_timeout.payment_attempt c ON c.provider = a.provider AND c.transaction_id = a.transaction_id
         AND c.order_id <> a.order_id AND (c.merchant_account = a.merchant_account OR '' IN (c.merchant_account, a.merchant_account))
   WHERE a.status = 'PAID' AND c.status = 'PAID'
         AND (a.registered AND a.paid_source = 'provider' AND NOT c.registered AND c.paid_source = 'report'
              AND NOT EXISTS (SELECT FROM order_timeout.payment_attempt b
                               WHERE b.order_id = a.order_id AND b.status = 'PAID' AND b.reference <> a.reference)
              OR NOT EXISTS (SELECT FROM order_timeout.unmatched_payment p
                              WHERE p.reason = 'attempt-mismatch' AND p.order_id IN (a.order_id, c.order_id)))`;

interface DeniedFacts {
  readonly id: string;
  readonly reference: string;
  readonly covered: boolean;
}

/** PAID orders that need what only a shop has told of a reference of theirs, and of which nobody reads anything. */
const DENIED = `
  SELECT o.id, a.reference,
         (SELECT coalesce(sum(b.paid_amount - b.refunded_amount), 0) FROM order_timeout.payment_attempt b
           WHERE b.order_id = o.id AND b.status = 'PAID' AND b.paid_currency = o.currency
                 AND b.reference <> a.reference) >= o.amount AS covered
    FROM order_timeout.orders o JOIN order_timeout.payment_attempt a ON a.order_id = o.id
   WHERE o.status = 'PAID' AND o.erased_at IS NULL AND a.registered AND a.provider <> '${WIRE}'
         AND a.status = 'PAID' AND a.paid_source = 'report'
         AND NOT EXISTS (SELECT FROM order_timeout.unmatched_payment p
                          WHERE (p.order_id = o.id OR p.evidence->'alsoReportedFor' @> to_jsonb(o.id))
                                AND p.reason = 'attempt-mismatch')
         AND NOT EXISTS (SELECT FROM order_timeout.timeout t WHERE t.key = o.id AND t.state = 'parked')`;

/** After the bank has told that something has changed. Its goods may not have been shipped yet. */
function deniedProblems(rows: readonly DeniedFacts[], { touched }: Stage, bank: Bank): string[] {
  const isDenied = ({ id, reference }: DeniedFacts): boolean =>
    bank.debits.some((one) => one.isTold && one.orderId === id && one.reference === reference) &&
    !bank.payments.some((one) => one.reference === reference);
  return rows
    .filter((row) => !row.covered && !touched.has(row.id) && isDenied(row))
    .map(({ id, reference }) => `${id} is PAID by ${reference}, which the bank denies, and nobody knows`);
}

/** What has paid an order pays it for ever, if no person has sent it back. Several have one reference. */
async function transferProblems(kernel: Kernel, { transfers, touched }: Stage): Promise<string[]> {
  const held = await kernel.query<{ orderId: string; name: string }>(`
    SELECT order_id AS "orderId", unnest(ARRAY[reference, transaction_id]) AS name
      FROM order_timeout.payment_attempt WHERE provider = '${WIRE}' AND status = 'PAID'`);
  const gone = await kernel.query<{ id: string }>(
    `SELECT id FROM sim.past_order UNION SELECT id FROM order_timeout.orders WHERE erased_at IS NOT NULL`,
  );
  const isForgotten = (id: string): boolean => touched.has(id) || gone.some((one) => one.id === id);
  return transfers
    .filter(({ hasPaid, isReturned, orderId }) => hasPaid && !isReturned && !isForgotten(orderId))
    .filter(({ id, orderId }) => !held.some((one) => one.name === id && one.orderId === orderId))
    .map(({ id, orderId }) => `${id} has paid ${orderId}, which does not have it any more`);
}

interface StatedRow {
  readonly reference: string;
  readonly transactionId: string | null;
}

/** Open rows whose money a provider has stated. */
const STATED = `
  SELECT reference, evidence->>'transactionId' AS "transactionId" FROM order_timeout.unmatched_payment
   WHERE source = 'provider' AND handling IN ('kept', 'waiting')`;

function strangeRows(rows: readonly StatedRow[], bank: Bank): string[] {
  const names = new Set(bank.payments.flatMap(({ reference, transactionId }) => [reference, transactionId]));
  const isKnown = ({ reference, transactionId }: StatedRow): boolean =>
    names.has(reference) && (transactionId === null || names.has(transactionId));
  return rows.filter((row) => !isKnown(row)).map(({ reference }) => `the bank has never stated ${reference}`);
}

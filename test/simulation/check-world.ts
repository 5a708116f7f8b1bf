import { type UnmatchedPayment } from '../../src/public/orders';
import { type LedgerEntry } from 'nestjs-order-timeout-payment-simulator';
import { moneyProblems, type OpenRowFact } from '../support/checks/money-checks';
import { type EventFact } from '../support/checks/facts';
import { eventProblems, historyProblems, reservationProblems, stockProblems } from '../support/checks/order-checks';
import { type Bank } from './bank';
import { type BankPayment } from './bank-books';
import { orderProblems } from './check-orders';
import { type Transfer, WIRE } from './clerk';
import { type Kernel } from './kernel';
import { delivered } from './listener';
import { ownProblems } from './own-timeouts';
import { OUTAGE, type PastFacts, pastFacts, recordsOf } from './past';
import { type Stage } from './stage';
import { RARE_GOODS } from './storyteller';

interface OrderTraits {
  readonly id: string;
  readonly status: string;
  readonly autoClose: boolean;
}

interface StoredTimeout {
  readonly kind: string;
  readonly key: string;
  readonly state: string;
  readonly says: string | null;
}

/** What must not be when a world has come to rest, by the books of the bank and by the tables. */
export async function checkWorld(
  kernel: Kernel,
  stage: Stage,
  bank: Bank,
  /** Undefined: nobody sends any. */
  events: readonly EventFact[] | undefined,
  listed: readonly UnmatchedPayment[],
): Promise<string[]> {
  const orders = await kernel.query<OrderTraits>(
    'SELECT id, status, auto_close AS "autoClose" FROM order_timeout.orders ORDER BY id',
  );
  const past = await pastFacts(kernel);
  const timeouts = await kernel.query<StoredTimeout>(
    'SELECT kind, key, state, last_error AS says FROM order_timeout.timeout ORDER BY kind, key',
  );
  return [
    ...endlessProblems(orders, timeouts, await unknownToBank(kernel, bank)),
    ...timeouts
      .filter(({ key, state }) => state === 'parked' && stage.done.has(key))
      .map(({ key, says }) => `${key} waits for a person, who has settled its money: ${says}`),
    ...(await kernel.query<{ says: string }>('SELECT says FROM sim.counted')).map(({ says }) => says),
    ...placingProblems(stage, [...orders, ...past.gone]),
    ...(await toldProblems(kernel, stage)),
    ...(await recordProblems(kernel, stage, past, events)),
    ...(await orderProblems(kernel, stage, bank, past)),
    ...(await listenerProblems(kernel, timeouts, past.gone)),
    ...(await ownProblems(kernel, stage)),
    ...(await ledgerProblems(kernel, stage, bank, past, listed)),
    ...listed
      .filter((row) => isRefunded(row, bank))
      .map(({ reference }) => `${reference} was refunded, and is told as not`),
    ...(stage.busy > 0 ? [`${stage.busy} people have not come to an end`] : []),
  ];
}

/**
 * Orders with an attempt that no bank has ever heard of and that never expires: its shop was told in the end that it is
 * refused. The service asks for a day, and then leaves it to a person.
 */
async function unknownToBank(kernel: Kernel, bank: Bank): Promise<ReadonlySet<string>> {
  const attempts = await kernel.query<{ id: string; reference: string; account: string }>(`
    SELECT order_id AS id, reference, COALESCE(resolved_account, merchant_account) AS account
      FROM order_timeout.payment_attempt WHERE status IN ('OPEN', 'UNKNOWN') AND time_expire IS NULL`);
  const isKnown = (one: { readonly reference: string; readonly account: string }): boolean =>
    bank.intentOf({ reference: one.reference, account: one.account === '' ? bank.defaultAccount : one.account }) !==
    undefined;
  return new Set(attempts.filter((one) => !isKnown(one)).map(({ id }) => id));
}

function endlessProblems(
  orders: readonly OrderTraits[],
  timeouts: readonly StoredTimeout[],
  waiting: ReadonlySet<string>,
): string[] {
  const pending = timeouts.filter(
    ({ kind, key, state }) => state !== 'parked' && !(kind === 'order.payment' && waiting.has(key)),
  );
  const isParked = ({ id }: OrderTraits): boolean =>
    timeouts.some(({ kind, key, state }) => kind === 'order.payment' && key === id && state === 'parked');
  const open = orders.filter(({ status, autoClose }) => ['PENDING', 'CLOSING'].includes(status) && autoClose);
  return [
    ...pending.map(({ kind, key, state }) => `${kind} ${key} is still ${state}`),
    ...open
      .filter((order) => !isParked(order) && !waiting.has(order.id))
      .map(({ id, status }) => `${id} is still ${status}`),
    ...timeouts
      .filter(({ state, says }) => state === 'parked' && PASSING.test(says ?? ''))
      .map(({ kind, key, says }) => `${kind} ${key} is parked, though what failed did not for long: ${says}`),
  ];
}

/** Failures that use up nothing: of the database ever, and of a bank for a day. */
const PASSING = new RegExp(`${OUTAGE}|the bank is not there|answer of the bank is lost`);

/** What a shop was told is true, also after a crash. */
async function toldProblems(kernel: Kernel, { registered, paid, canceled, uncanceled }: Stage): Promise<string[]> {
  const attempts = await kernel.query<{ reference: string }>(
    'SELECT reference FROM order_timeout.payment_attempt UNION SELECT reference FROM sim.past_attempt',
  );
  const steps = await kernel.query<{ id: string; status: string }>(
    'SELECT order_id AS id, to_status AS status FROM order_timeout.order_history',
  );
  const gone = await kernel.query<{ id: string }>('SELECT id FROM sim.past_order');
  const known = new Set(attempts.map(({ reference }) => reference));
  const hasBeen = (one: string, what: string): boolean =>
    gone.some(({ id }) => id === one) || steps.some(({ id, status }) => id === one && status === what);
  return [
    ...[...registered].filter((name) => !known.has(name)).map((name) => `${name} was registered and is not there`),
    ...[...paid].filter((id) => !hasBeen(id, 'PAID')).map((id) => `${id} was paid and is not`),
    ...[...canceled].filter((id) => !hasBeen(id, 'CANCELLED')).map((id) => `${id} was canceled and is not`),
    ...[...uncanceled]
      .filter((id) => steps.some((step) => step.id === id && step.status === 'CANCELLED'))
      .map((id) => `${id} was not canceled and is`),
  ];
}

/** What is placed is there, and what a host has taken back is not. */
function placingProblems({ lines, unplaced }: Stage, orders: readonly { readonly id: string }[]): string[] {
  const ids = new Set(orders.map(({ id }) => id));
  return [
    ...[...lines.keys()].filter((id) => !ids.has(id)).map((id) => `${id} was placed and is not there`),
    ...[...unplaced].filter((id) => ids.has(id)).map((id) => `${id} was rolled back and is there`),
  ];
}

async function recordProblems(
  kernel: Kernel,
  stage: Stage,
  past: PastFacts,
  events: readonly EventFact[] | undefined,
): Promise<string[]> {
  const records = recordsOf(kernel);
  const gone = past.gone.map((order) => withLines(stage, order));
  const placed = [...(await records.orderRecords()).values()].map((order) => withLines(stage, order));
  return [
    ...placed.flatMap(({ id, version, history }) => historyProblems(id, version, history)),
    ...placed.flatMap(({ id, history }) => (events ? eventProblems(id, history, ofOrder(id, events)) : [])),
    ...placed.flatMap((order) => reservationProblems(order.id, order, order.reservations)),
    ...stockProblems(await records.stock(), (sku) => RARE_GOODS.get(sku) ?? stage.habits.stock, [...placed, ...gone]),
  ];
}

/** In a transaction, a listener hears each step once; after it, at least once, unless what it should hear is parked. */
async function listenerProblems(
  kernel: Kernel,
  timeouts: readonly StoredTimeout[],
  gone: readonly unknown[],
): Promise<string[]> {
  const steps = await kernel.query<{ step: string; status: string; heard: number }>(`
    SELECT h.order_id || ' ' || h.version AS step, h.to_status AS status,
           (SELECT count(*) FROM sim.heard s WHERE (s.order_id, s.version) = (h.order_id, h.version))::int AS heard
      FROM order_timeout.order_history h
     WHERE h.to_status IN ('PAID', 'CLOSED', 'CANCELLED') AND h.from_status IS DISTINCT FROM h.to_status`);
  const [all] = await kernel.query<{ rows: number }>('SELECT count(*)::int AS rows FROM sim.heard');
  const isMore = all !== undefined && all.rows > steps.length;
  const isParked = timeouts.some(({ kind, state }) => state === 'parked' && kind.includes('listener'));
  return [
    ...steps.filter(({ heard }) => heard !== 1).map(({ step, heard }) => `a listener heard of ${step} ${heard} times`),
    ...(isMore && gone.length === 0 ? [`a listener heard of ${all.rows} steps, and ${steps.length} were made`] : []),
    ...steps
      .filter(({ step, status }) => !isParked && status !== 'PAID' && !delivered.has(step))
      .map(({ step }) => `no listener was told of ${step}`),
  ];
}

function ofOrder(id: string, events: readonly EventFact[]): EventFact[] {
  return events.filter(({ orderId }) => orderId === id);
}

/** The goods of an order are free as soon as its money is on the way back. */
function withLines<T extends { readonly id: string; readonly status: string }>(
  { lines }: Stage,
  order: T,
): T & { readonly lines: NonNullable<ReturnType<Stage['lines']['get']>> } {
  const status = order.status === 'REFUNDING' ? 'CLOSED_REFUNDED' : order.status;
  return { ...order, lines: lines.get(order.id) ?? [], status };
}

function transferOf({ id, reference, orderId, amount, isReturned }: Transfer): LedgerEntry {
  const money = { paidAmount: String(amount), refundedAmount: isReturned ? String(amount) : '0' };
  return { provider: WIRE, orderId, reference, merchantAccount: null, transactionId: id, ...money } as LedgerEntry;
}

async function ledgerProblems(
  kernel: Kernel,
  stage: Stage,
  bank: Bank,
  { erased, reported, claims: pastClaims }: PastFacts,
  listed: readonly UnmatchedPayment[],
): Promise<string[]> {
  const { claims } = await recordsOf(kernel).money();
  const entryOf = ({ orderId, reference, account, transactionId, amount, refunded }: BankPayment): LedgerEntry => {
    const money = { paidAmount: String(amount), refundedAmount: String(refunded) };
    return {
      provider: bank.name,
      orderId,
      reference,
      merchantAccount: account,
      transactionId,
      ...money,
    } as LedgerEntry;
  };
  const seen = [...listed.map((row) => rowOf(row, bank)), ...(await kernel.query<OpenRowFact>(SEEN_ELSEWHERE))];
  const named = claims.filter(({ reference }) => !reference.startsWith('erased:'));
  // No table says any more which payments such an order had, and of a reported one the bank may have said nothing.
  const isForgotten = ({ orderId, reference, isTold }: BankPayment): boolean =>
    erased.has(orderId) || (reported.has(reference) && !isTold);
  const transfers = stage.transfers.filter(({ orderId }) => erased.has(orderId));
  const forgotten = [...bank.payments.filter(isForgotten), ...transfers].map(({ reference }) => ` ${reference} `);
  const facts = {
    ledger: [
      ...bank.payments.map(entryOf),
      ...stage.transfers.filter(({ toldFor }) => toldFor.size > 0).map(transferOf),
    ],
    claims: [...named, ...pastClaims],
    openRows: seen,
  };
  const known = namelessExcess(listed);
  return moneyProblems(facts)
    .filter(
      (says) => !/nobody knows$|and the provider holds/.test(says) || !forgotten.some((name) => says.includes(name)),
    )
    .filter((says) => !known.has(says));
}

/** A person reads how much is spare of which order, of payments whose names say nothing since they were erased. */
function namelessExcess(listed: readonly UnmatchedPayment[]): ReadonlySet<string> {
  const rows = listed.filter(({ reference }) => reference.startsWith('erased:'));
  const spareOf = (id: string | null): number =>
    rows
      .filter(({ orderId, reason }) => orderId === id && ['late', 'surplus', 'overpaid'].includes(reason))
      .reduce((sum, { amount }) => sum + amount, 0);
  return new Set(rows.map(({ orderId }) => `${orderId} has ${spareOf(orderId)} too much, and nobody knows`));
}

/**
 * Whoever reads that a refund has failed pays the money back once more. If a chargeback of the order came while the bank
 * answered, he reads instead that the bank may have refunded it, and asks it by a replay.
 */
function isRefunded({ reason, provider, reference, evidence }: UnmatchedPayment, bank: Bank): boolean {
  const [payment, other] = bank.payments.filter((one) => [one.reference, one.transactionId].includes(reference));
  if (reason !== 'refund-failed' || provider !== bank.name || !payment || other) return false;
  if (String(evidence.says).startsWith('held by a chargeback, though the provider may have it already')) return false;
  const refunds = [...payment.refunds.values()].filter(({ status }) => status === 'REFUNDED');
  const isWhole = refunds.reduce((sum, { amount }) => sum + amount, 0n) >= payment.amount;
  return isWhole && payment.refunded > 0n && !payment.isWired && !payment.isDisputed;
}

/** As an operator reads it, who does not believe what only a shop states and no bank has taken. */
function rowOf(row: UnmatchedPayment, bank: Bank): OpenRowFact {
  const { provider, reference, merchantAccount, orderId } = row;
  const { transactionId } = row.evidence;
  const isStrange = row.source === 'report' && !bank.payments.some((one) => isStated(row, one));
  return {
    ...{ provider, reference, merchantAccount: merchantAccount ?? '', orderId },
    reason: isStrange ? 'reported' : row.reason,
    transactionId: typeof transactionId === 'string' ? transactionId : '',
  };
}

function isStated({ reference, amount, currency }: UnmatchedPayment, payment: BankPayment): boolean {
  const isNamed = [payment.reference, payment.transactionId].includes(reference);
  return isNamed && payment.amount === BigInt(amount) && payment.currency === currency;
}

/**
 * What a person can see without an open row of unmatched_payment: the money of parked orders and refunds, that of orders
 * which nobody closes automatically, and chargebacks, to which he may have responded.
 */
const SEEN_ELSEWHERE = `
  SELECT a.provider, a.reference, a.merchant_account AS "merchantAccount", 'parked' AS reason,
         coalesce(a.transaction_id, '') AS "transactionId"
    FROM order_timeout.payment_attempt a JOIN order_timeout.timeout t ON t.key = a.order_id AND t.state = 'parked'
  UNION ALL
  SELECT provider, reference, merchant_account, reason, coalesce(evidence->>'transactionId', '')
    FROM (SELECT * FROM order_timeout.unmatched_payment UNION ALL SELECT * FROM sim.past_chargeback) row
   WHERE reason = 'chargeback' AND handling = 'settled'
  UNION ALL
  SELECT r.provider, r.reference, r.merchant_account, 'parked', ''
    FROM order_timeout.refund r JOIN order_timeout.timeout t ON t.key = r.number AND t.state = 'parked'
  UNION ALL
  SELECT a.provider, a.reference, a.merchant_account, 'pending', coalesce(a.transaction_id, '')
    FROM order_timeout.payment_attempt a JOIN order_timeout.orders o ON o.id = a.order_id
   WHERE o.status = 'PENDING' AND NOT o.auto_close`;

import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { announceAfterCommit, insertEvents } from '../../outbox';
import { Database, statements, storableJson, storableText } from '../../database';
import { present } from '../../errors';
import { OrderEventLog } from '../listeners/order-listeners';
import { outboxEvent } from '../model/transition';
import { FAILED_REFUND_REASONS, HELD_MONEY_REASONS, reasonsSql, type UnmatchedMoney } from '../model/unmatched-money';
import { type HandledPayment } from '../model/decide-claim';
import {
  BOOKED_STATUSES,
  accountOfAttempt,
  type AttemptKey,
  isSameAttempt,
  type PaidSource,
  type PaymentNames,
} from '../model/order';

/**
 * Stores unmatched money with its event, once per payment and reason, because reports are repeated. It sends another
 * event if money that waited for the rest is left to a person, if an equally or more trusted source states another
 * amount, and if a person had settled another amount or a mere report, if a chargeback that was settled goes on, or if a
 * refund fails once more. If an order is named later, it is added. Other orders that the payment is reported for are told
 * in an event each, and noted in the evidence, up to 20 of them. A second payment under one reference is
 * stored under its transaction id; its evidence has the reference.
 */
@Injectable()
export class KeepUnmatchedMoney {
  private readonly keepSql: string;

  constructor(
    private readonly database: Database,
    private readonly events: OrderEventLog,
  ) {
    this.keepSql = keepSql(database.schema, events.writesEvents);
  }

  async execute(tx: EntityManager, told: readonly UnmatchedMoney[]): Promise<void> {
    await this.keep(tx, await this.withoutRepetitions(tx, told));
  }

  private async keep(tx: EntityManager, money: readonly UnmatchedMoney[]): Promise<void> {
    if (money.length === 0) return;
    const accounted = await withAccounts(tx, this.database, money);
    const { first, others: later } = oneOfEachRow(accounted);
    const rows = first.map((one) => ({ ...one, event: eventOf(one) }));
    const kept = await tx.query<{ id: string; is_other: boolean }[]>(this.keepSql, [
      rows.map((row) => row.event.id),
      rows.map((row) => row.provider),
      rows.map((row) => row.reference),
      rows.map((row) => row.orderId),
      rows.map((row) => row.amount.toString()),
      rows.map((row) => row.currency),
      rows.map(({ evidence, transactionId }) =>
        storableJson({ ...evidence, transactionId, [OTHER_ORDERS]: undefined }),
      ),
      rows.map((row) => row.reason),
      rows.map((row) => storableJson(row.event.body)),
      rows.map((row) => row.traceparent ?? null),
      rows.map((row) => row.handling),
      rows.map((row) => row.merchantAccount ?? ''),
      rows.map((row) => row.source),
    ]);
    const others = new Set(kept.filter((row) => row.is_other).map(({ id }) => id));
    const reported = new Set(kept.filter((row) => !row.is_other).map(({ id }) => id));
    const events = rows.map(({ event }) => event).filter(({ id }) => reported.has(id));
    await this.events.tell(tx, events);
    announceAfterCommit(tx);
    await this.keep(tx, [...rows.filter(({ event }) => others.has(event.id)).map(distinguished), ...later]);
  }

  /** Payments of unknown orders that repeat what was settled, or what an order had that was erased or purged, are dropped. */
  private async withoutRepetitions(
    tx: EntityManager,
    told: readonly UnmatchedMoney[],
  ): Promise<readonly UnmatchedMoney[]> {
    const unknown = told.filter(({ reason }) => reason === 'unknown-order');
    if (unknown.length === 0) return told;
    const [row] = await tx.query<{ handled: HandledRow[] | null }[]>(
      isHandledSql(this.database),
      namesParameters(unknown),
    );
    return told.filter(
      (money) => !unknown.includes(money) || !isRepetition(handledOf(row?.handled, money.orderId), money),
    );
  }
}

/** What the evidence calls the other orders that the payment was reported for. Nobody else may write it. */
export const OTHER_ORDERS = 'alsoReportedFor';

/** Each of them is told once. Whoever reports one payment for more orders than this is told nothing new by it. */
const MAX_OTHER_ORDERS = 20;

function keepSql(schema: string, writesEvents: boolean): string {
  const isSame = `NOT ${isOtherPayment('o', 'EXCLUDED')}`;
  const isOpen = `o.handling IN ('kept', 'waiting')`;
  const isEscalated = `(o.handling = 'waiting' AND EXCLUDED.handling = 'kept' AND ${isSame})`;
  const isOther = `(o.amount, o.currency) <> (EXCLUDED.amount, EXCLUDED.currency)`;
  const isFailedAgain = `(o.reason IN (${reasonsSql(FAILED_REFUND_REASONS)}) AND o.handling <> 'kept')`;
  const isVouched = `(o.source = 'report' AND EXCLUDED.source = 'provider')`;
  const isOfOrder = `(o.order_id = EXCLUDED.order_id) IS NOT FALSE`;
  // An order had it or did not need to decide about it, which is not so anymore.
  const isLeftAgain = `(o.handling IN ('adopted', 'completed') AND EXCLUDED.handling = 'kept' AND (o.reason IN
             (${reasonsSql(HELD_MONEY_REASONS)}) OR o.reason = 'unknown-order' AND (${isOther} OR ${isVouched}) AND ${isOfOrder}))`;
  // Such as that it is lost now.
  const isNews = `(o.reason = 'chargeback' AND o.evidence <> EXCLUDED.evidence)`;
  const isSettledAgain = `(o.handling = 'settled' AND (${isOther} OR ${isVouched} OR ${isNews}))`;
  const isReopened = `((${isSettledAgain} OR ${isFailedAgain} OR ${isLeftAgain}) AND ${isSame})`;
  const isRestated = `(${isOpen} AND o.source = EXCLUDED.source AND ${isOther} AND ${isOfOrder} AND ${isSame})`;
  const isConfirmed = `(${isOpen} AND (${isVouched} OR ${isNews}))`;
  const isNamed = `(o.handling = 'kept' AND o.order_id IS NULL AND EXCLUDED.order_id IS NOT NULL AND ${isSame})`;
  const isTold = `(${isReopened} OR ${isRestated} OR ${isConfirmed})`;
  const otherOrders = `COALESCE(o.evidence->'${OTHER_ORDERS}', '[]')`;
  const isForAnother = `(o.order_id <> EXCLUDED.order_id AND ${isSame} AND NOT ${otherOrders} @> to_jsonb(EXCLUDED.order_id)
             AND jsonb_array_length(${otherOrders}) < ${MAX_OTHER_ORDERS})`;
  const withOther = `o.evidence || jsonb_build_object('${OTHER_ORDERS}', ${otherOrders} || to_jsonb(EXCLUDED.order_id))`;
  const told = ['amount', 'currency', 'source'];
  const joined = `money m JOIN kept k USING (provider, reference, merchant_account, reason)`;
  const unreported = `SELECT m.id, m.body, m.traceparent FROM ${joined}
             LEFT JOIN before b USING (provider, reference, merchant_account, reason)
       WHERE NOT ${isOtherPayment('k', 'm')}
             AND (b.id IS NULL OR b.handling <> 'kept' OR b.order_id <> m.order_id OR (b.amount, b.currency) <> (m.amount, m.currency))`;
  return `
      WITH money AS (
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::jsonb[],
                             $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[])
          AS m(id, provider, reference, order_id, amount, currency, evidence, reason, body, traceparent, handling,
               merchant_account, source)),
      before AS (
        SELECT o.* FROM money m JOIN ${schema}.unmatched_payment o USING (provider, reference, merchant_account, reason)),
      kept AS (
        INSERT INTO ${schema}.unmatched_payment AS o
               (id, provider, reference, merchant_account, order_id, amount, currency, source, evidence, reason, handling)
        SELECT id, provider, reference, merchant_account, order_id, amount, currency, source, evidence, reason, handling
          FROM money
        ON CONFLICT (provider, reference, merchant_account, reason)
        DO UPDATE
           SET order_id = ${orderIdOf(isSame, isVouched)},
               handling = CASE WHEN ${isEscalated} OR ${isReopened} THEN 'kept' ELSE o.handling END,
               resolved_at = CASE WHEN NOT (${isReopened}) THEN o.resolved_at END,
               resolved_by = CASE WHEN NOT (${isReopened}) THEN o.resolved_by END,
               resolution = CASE WHEN NOT (${isReopened}) THEN o.resolution END,
               evidence = CASE WHEN ${isTold} THEN EXCLUDED.evidence WHEN ${isForAnother} THEN ${withOther} ELSE o.evidence END,
               ${told.map((column) => `${column} = CASE WHEN ${isTold} THEN EXCLUDED.${column} ELSE o.${column} END`).join(', ')}
         -- Another payment changes nothing, and is returned: what was committed meanwhile is seen only here.
         WHERE ${isEscalated} OR ${isTold} OR ${isNamed} OR ${isForAnother} OR NOT (${isSame})
        RETURNING provider, reference, merchant_account, reason, source, evidence),
      unreported AS (${unreported}),
      event AS (
        ${insertEvents(schema, { from: 'unreported', id: 'id', type: `'order.payment_late'` }, writesEvents)})
      SELECT id, false AS is_other FROM unreported
      UNION ALL SELECT m.id, true FROM ${joined} WHERE ${isOtherPayment('k', 'm')}`;
}

const isHandledSql = statements((schema) => `SELECT (${handledSql(schema)}) AS handled`);

/** SQL: a provider's word about another order than a report named is about that one. */
function orderIdOf(isSame: string, isVouched: string): string {
  const [known, told] = ['o.order_id', 'EXCLUDED.order_id'];
  return `CASE WHEN NOT (${isSame}) THEN ${known} WHEN ${isVouched} THEN COALESCE(${told}, ${known})
               ELSE COALESCE(${known}, ${told}) END`;
}

/** SQL: whether the provider has stated both, and they are two payments. An id that is the reference tells nothing. */
function isOtherPayment(row: string, other: string): string {
  const [known, told] = [`${row}.evidence->>'transactionId'`, `${other}.evidence->>'transactionId'`];
  return `COALESCE(${row}.source = 'provider' AND ${other}.source = 'provider' AND ${known} <> ${told} AND ${told} <> ${other}.reference, false)`;
}

/** A second payment under the name that tells it from the first. */
function distinguished({ transactionId, reference, evidence, ...money }: UnmatchedMoney): UnmatchedMoney {
  const own = present(transactionId, `the transaction id of a second payment under ${reference}`);
  return { ...money, transactionId, reference: own, evidence: { ...evidence, reference } };
}

function eventOf(money: UnmatchedMoney) {
  const { orderId, provider, reference, merchantAccount, amount, currency, reason, handling, now, traceparent } = money;
  const account = merchantAccount === null ? {} : { merchantAccount };
  const details = { orderId, provider, reference, ...account, amount: Number(amount), currency, reason, handling };
  return outboxEvent('order.payment_late', details, now, traceparent);
}

/** One statement writes a row once. Of one order, the last counts; other orders have their turn afterwards. */
function oneOfEachRow(money: readonly UnmatchedMoney[]): Record<'first' | 'others', readonly UnmatchedMoney[]> {
  const distinct = new Map(money.map((one) => [`${keyOf(one)}\n${one.orderId ?? ''}`, one]));
  const first = new Map<string, UnmatchedMoney>();
  const others: UnmatchedMoney[] = [];
  for (const one of distinct.values()) {
    if (first.has(keyOf(one))) others.push(one);
    else first.set(keyOf(one), one);
  }
  return { first: [...first.values()], others };
}

function keyOf({ provider, reference, merchantAccount, reason }: UnmatchedMoney): string {
  return [provider, reference, merchantAccount ?? '', reason].join('\n');
}

interface Known extends Pick<UnmatchedMoney, 'provider' | 'reference' | 'reason' | 'orderId' | 'handling'> {
  readonly id: string;
  readonly account: string;
}

/**
 * One payment has one row of unmatched money, although one of two sources did not know its merchant account. A row
 * without the account gets it, and money without an account goes to the row that has one.
 */
async function withAccounts(
  tx: EntityManager,
  database: Database,
  money: readonly UnmatchedMoney[],
): Promise<UnmatchedMoney[]> {
  const known = await tx.query<Known[]>(accountSql(database).find, [
    money.map(({ provider }) => provider),
    money.map(({ reference }) => reference),
    money.map(({ reason }) => reason),
  ]);
  const accounted: UnmatchedMoney[] = [];
  for (const one of money) accounted.push(await withAccountOf(tx, database, one, known));
  return accounted;
}

async function withAccountOf(
  tx: EntityManager,
  database: Database,
  one: UnmatchedMoney,
  known: readonly Known[],
): Promise<UnmatchedMoney> {
  const named = known.filter(
    ({ provider, reference, reason }) =>
      provider === one.provider && reference === one.reference && reason === one.reason,
  );
  // Another order may have the reference at another account.
  const rows = named.filter(({ orderId }) => orderId === one.orderId || orderId === null || one.orderId === null);
  const account = one.merchantAccount ?? '';
  const isThere = (row: Known): boolean => row.account === account;
  if (rows.some(isThere)) return one;
  // Of several accounts, none is known to be the one.
  const [only, ...others] = rows;
  if (account === '') return only && others.length === 0 ? { ...one, merchantAccount: only.account } : one;
  const unresolved = rows.find((row) => row.account === '');
  if (!unresolved) return one;
  // The money of an attempt is stored under the key of that attempt, which never changes.
  if (one.reason !== 'unknown-order') return { ...one, merchantAccount: null };
  // What an order has is at the account of its attempt. A row of another order may have the key already.
  if (unresolved.handling === 'adopted' || named.some(isThere)) return one;
  await tx.query(accountSql(database).resolve, [unresolved.id, account]);
  return one;
}

const accountSql = statements((schema) => ({
  find: `
      SELECT p.id, p.provider, p.reference, p.reason, p.merchant_account AS account, p.order_id AS "orderId", p.handling
        FROM unnest($1::text[], $2::text[], $3::text[]) AS m(provider, reference, reason), LATERAL (
          SELECT * FROM ${schema}.unmatched_payment o
           WHERE o.provider = m.provider AND o.reference = m.reference AND o.reason = m.reason OFFSET 0) p`,
  resolve: `
      WITH resolved AS (
        UPDATE ${schema}.unmatched_payment SET merchant_account = $2 WHERE id = $1 AND merchant_account = ''
        RETURNING ${schema}.payment_name(provider, reference) AS reference)
      UPDATE ${schema}.handled_payment h SET merchant_account = $2 FROM resolved p
       WHERE h.reference = p.reference AND h.merchant_account = '' AND h.fate = 'settled' AND h.order_id IS NULL`,
}));

/** The table with the key of the hashes, which nobody needs to read but the service. */
export const PAYMENT_NAME_KEY = 'payment_name_key';

export interface HandledRow extends Pick<HandledPayment, 'provider' | 'reference' | 'fate' | 'source' | 'currency'> {
  readonly account: string;
  readonly order_id: string | null;
  readonly amount: string | null;
  readonly is_other: boolean;
  /** Its account is known on one side only, and no transaction id proves that both are one. */
  readonly is_unresolved: boolean;
}

type Claimed = AttemptKey & { readonly source: PaidSource; readonly isAssigned?: boolean };

/**
 * Whether a person or another order has dealt with this payment, so that no order may count on it. A mere report about an
 * erased or purged order does not outweigh the word of a provider.
 */
export function isHandled(handled: readonly HandledPayment[], money: Claimed): boolean {
  return dealtWith(handled, money).length > 0;
}

/** Whether the provider confirms what a person has settled and no order had. Its order books it as settled. */
export function isSettledBefore(handled: readonly HandledPayment[], money: Claimed): boolean {
  const fates = dealtWith(handled, money).map(({ fate }) => fate);
  return money.source === 'provider' && fates.length > 0 && fates.every((fate) => fate === 'settled');
}

/**
 * Whether the provider confirms a payment that an order had, too, before it was erased or purged, or that a person has
 * settled. A mere report did not take it from this order, but a person must find out whose money it is, and whether it is
 * still there.
 */
export function wasElsewhere(handled: readonly HandledPayment[], money: Claimed): boolean {
  return money.source === 'provider' && money.isAssigned !== true && handled.some((one) => isMeant(one, money));
}

function dealtWith(handled: readonly HandledPayment[], money: Claimed): HandledPayment[] {
  return handled.filter((one) => isMeant(one, money) && (one.fate === 'settled' || isTold(one, money)));
}

/**
 * Whether this is a repetition of a payment that needs nothing more. Another amount does not repeat it, and the word of a
 * provider does not repeat a report.
 */
export function isRepetition(
  handled: readonly HandledPayment[],
  money: Claimed & { readonly amount: bigint; readonly currency: string },
): boolean {
  const isSame = ({ amount, currency }: HandledPayment): boolean =>
    amount === null || (amount === money.amount && currency === money.currency);
  return handled.some((one) => isMeant(one, money) && isTold(one, money) && isSame(one));
}

/** A transaction id that is or was only reported does not make a second payment of one that was dealt with. */
function isMeant(one: HandledPayment, money: Claimed): boolean {
  const isReport = money.source === 'report' && money.isAssigned !== true;
  return isSameAttempt(one, money) && (isReport || one.source === 'report' || !one.isOther);
}

function isTold({ source }: HandledPayment, money: Claimed): boolean {
  return source === 'provider' || money.source === 'report';
}

/** SQL: the names of payments; `namesParameters` has the parameters. */
export const NAMED = `unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS n(provider, reference, account, transaction)`;

export function namesParameters(names: readonly PaymentNames[]): unknown[] {
  return [
    names.map(({ provider }) => provider),
    names.map(({ reference }) => reference),
    names.map((name) => accountOfAttempt(name) ?? ''),
    names.map(({ transactionId }) => (transactionId === null ? null : storableText(transactionId))),
  ];
}

/**
 * SQL: the rows of handled_payment that are the payments `n` (provider, reference, account, transaction), as JSON.
 * `is_other`: one reference with two transaction ids.
 */
export function handledSql(schema: string): string {
  const name = (column: string): string => `${schema}.payment_name(n.provider, n.${column})`;
  const rows = `SELECT o.*, false AS is_other FROM ${schema}.handled_payment o`;
  return `
    SELECT json_agg(json_build_object('provider', n.provider, 'reference', n.reference, 'account', n.account, 'fate', h.fate,
             'order_id', h.order_id, 'source', h.source, 'amount', h.amount::text, 'currency', h.currency, 'is_other', h.is_other,
             'is_unresolved', (h.merchant_account = n.account OR h.transaction = x.reference
               OR x.transaction IN (h.transaction, h.reference)) IS NOT TRUE))
      FROM ${NAMED}, LATERAL (SELECT ${name('reference')} AS reference, ${name('transaction')} AS transaction OFFSET 0) x,
           LATERAL (
             SELECT o.*, (o.transaction = x.transaction) IS FALSE AS is_other FROM ${schema}.handled_payment o WHERE o.reference = x.reference
             UNION ALL ${rows} WHERE o.reference = x.transaction
             UNION ALL ${rows} WHERE o.transaction = x.reference
             UNION ALL ${rows} WHERE o.transaction = x.transaction OFFSET 0) h
     WHERE h.merchant_account = n.account OR '' IN (h.merchant_account, n.account)`;
}

/** Without an account, one reference may be two payments, unless the same order had it. */
export function handledOf(
  rows: readonly HandledRow[] | null | undefined,
  orderId: string | null = null,
): HandledPayment[] {
  const isKnown = ({ is_unresolved: isUnresolved, order_id: id }: HandledRow): boolean =>
    !isUnresolved || (id !== null && id === orderId);
  return (rows ?? []).filter(isKnown).map(toHandled);
}

function toHandled(row: HandledRow): HandledPayment {
  const { provider, reference, account, fate, source, currency } = row;
  const merchantAccount = account === '' ? null : account;
  const amount = row.amount === null ? null : BigInt(row.amount);
  const what = { provider, reference, merchantAccount, fate, source, currency, amount };
  return { ...what, orderId: row.order_id, isOther: row.is_other };
}

/** SQL: stores what is left of settled unmatched money. @param which a condition on the row `p` */
export function rememberSettledSql(schema: string, which: string): string {
  return `
    INSERT INTO ${schema}.handled_payment
           (reference, transaction, merchant_account, amount, currency, source, fate)
    SELECT ${schema}.payment_name(p.provider, p.reference),
           ${schema}.payment_name(p.provider, p.evidence->>'transactionId'), p.merchant_account, p.amount, p.currency,
           p.source, 'settled'
      FROM ${schema}.unmatched_payment p WHERE ${which}`;
}

/**
 * SQL: stores what is left of the payments of orders that are erased or purged; `$1` are their ids. A provider names the
 * reference if the refund of a second payment under it fails, so such a refund is stored under the first payments' names.
 * Of a payment that was refunded in part, the part has a row of its own. A refund that a person has made instead of the
 * provider has no evidence, and nothing that the provider says of it later matters. Another name of a payment is stored
 * with the payment's transaction id: only a report may have given it that name, which may be another payment's reference.
 */
export function rememberBookedSql(schema: string, isOpenName: string): string {
  const refunded = (what: string, attempt: string): string => `(SELECT ${what} FROM ${schema}.refund r
     WHERE r.provider = ${attempt}.provider AND r.reference = ${attempt}.reference
       AND r.merchant_account = ${attempt}.merchant_account AND r.evidence IS NOT NULL)`;
  const isRefunded = (attempt: string): string => `EXISTS ${refunded('1', attempt)}`;
  const isPart = `${refunded('sum(r.amount)', 'a')} < a.paid_amount`;
  const booked = BOOKED_STATUSES.map((status) => `'${status}'`).join(', ');
  return `
    INSERT INTO ${schema}.handled_payment
           (reference, transaction, merchant_account, amount, currency, source, fate, order_id)
    SELECT ${schema}.payment_name(a.provider, a.reference), ${schema}.payment_name(a.provider, a.transaction_id),
           COALESCE(a.resolved_account, a.merchant_account), a.paid_amount, a.paid_currency,
           COALESCE(a.paid_source, 'report'),
           CASE WHEN a.status = 'SETTLED' THEN 'settled' WHEN ${isPart} THEN 'booked'
                WHEN ${isRefunded('a')} THEN 'refunded' ELSE 'booked' END, a.order_id
      FROM ${schema}.payment_attempt a
     WHERE a.order_id = ANY($1::text[]) AND a.status IN (${booked}) AND ${isOpenName}
    UNION ALL
    SELECT ${schema}.payment_name(a.provider, a.reference), ${schema}.payment_name(p.provider, p.transaction_id),
           COALESCE(a.resolved_account, a.merchant_account), p.paid_amount, p.paid_currency, 'provider', 'booked', p.order_id
      FROM ${schema}.payment_attempt p JOIN ${schema}.payment_attempt a USING (order_id, provider)
     WHERE p.order_id = ANY($1::text[]) AND p.status IN (${booked}) AND p.paid_source = 'provider'
           AND a.status = 'DUPLICATE' AND ${isOpenName}
    UNION ALL
    SELECT ${schema}.payment_name(a.provider, a.reference), ${schema}.payment_name(a.provider, a.transaction_id),
           COALESCE(a.resolved_account, a.merchant_account), ${refunded('sum(r.amount)', 'a')}, a.paid_currency, 'provider', 'refunded', a.order_id
      FROM ${schema}.payment_attempt a
     WHERE a.order_id = ANY($1::text[]) AND a.status IN (${booked}) AND a.status <> 'SETTLED' AND ${isPart} AND ${isOpenName}
    UNION ALL
    SELECT ${schema}.payment_name(a.provider, a.reference), ${schema}.payment_name(s.provider, s.transaction_id),
           COALESCE(a.resolved_account, a.merchant_account), s.paid_amount, s.paid_currency, 'provider', 'refunded', s.order_id
      FROM ${schema}.payment_attempt s JOIN ${schema}.payment_attempt a USING (order_id, provider)
     WHERE s.order_id = ANY($1::text[]) AND s.reference = s.transaction_id AND NOT s.registered AND ${isRefunded('s')}
           AND a.registered AND a.paid_source = 'provider' AND ${isOpenName}`;
}

@Injectable()
export class SettledPayments {
  constructor(private readonly database: Database) {}

  /** @param id of the row in unmatched_payment. */
  async remember(tx: EntityManager, id: string): Promise<void> {
    await tx.query(settledSql(this.database).remember, [id]);
  }

  async forget(tx: EntityManager, id: string): Promise<void> {
    await tx.query(settledSql(this.database).forget, [id]);
  }
}

const settledSql = statements((schema) => ({
  remember: rememberSettledSql(schema, 'p.id = $1'),
  forget: `
      DELETE FROM ${schema}.handled_payment h USING ${schema}.unmatched_payment p
       WHERE p.id = $1 AND h.fate = 'settled' AND h.order_id IS NULL
             AND h.reference = ${schema}.payment_name(p.provider, p.reference) AND h.merchant_account = p.merchant_account`,
}));

import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Database, statements, storableText } from '../../database';
import { type ClaimDecision, type HandledPayment, isRightful } from '../model/decide-claim';
import { type Booking } from '../model/money';
import {
  BOOKED_SQL,
  accountOfAttempt,
  type AttemptKey,
  isSameAttempt,
  type PaidSource,
  type PaymentNames,
} from '../model/order';

/** The table with the key of the hashes, which nobody needs to read but the service. */
export const PAYMENT_NAME_KEY = 'payment_name_key';

export interface HandledRow extends Pick<
  HandledPayment,
  'provider' | 'reference' | 'fate' | 'source' | 'currency' | 'payment'
> {
  readonly account: string;
  readonly order_id: string | null;
  readonly amount: string | null;
  readonly refunded: string | null;
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

/** Pure: whether a person is told of a payment that the order takes, because another order had it, or claims it as well. */
export function isOthersToo(
  decision: ClaimDecision,
  booking: Booking,
  handled: readonly HandledPayment[],
  isSettled = false,
): boolean {
  if (decision === 'disputed') return true;
  if (!isSettled && booking.holder.status !== 'SETTLED' && wasElsewhere(handled, booking.money)) return true;
  return decision === 'outranks' && (isSettled || !isRightful(booking));
}

/** Whoever settles what its provider stated without a valid amount does not know what the provider confirms later. */
function dealtWith(handled: readonly HandledPayment[], money: Claimed): HandledPayment[] {
  const isKnown = ({ amount }: HandledPayment): boolean => amount !== 0n || money.source === 'report';
  // A report never adds a payment to a reference, whatever its transaction id.
  const isIts = isReport(money) ? isSameAttempt : isMeant;
  return handled.filter((one) => isIts(one, money) && isKnown(one) && (one.fate === 'settled' || isTold(one, money)));
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

/** Whether this order had the payment before it was erased. */
export function wasHadBy(orderId: string, handled: readonly HandledPayment[], money: Claimed): boolean {
  return handled.some((one) => one.orderId === orderId && isMeant(one, money));
}

/** Whether an order had refunded this payment, or a part, before it was erased or purged. */
export function wasRefunded(handled: readonly HandledPayment[], money: Claimed): boolean {
  return handled.some((one) => one.fate === 'refunded' && isMeant(one, money));
}

/**
 * A transaction id that is or was only reported does not make a second payment of one that was dealt with, if the provider
 * has told of one of them: it may have an id of its own. Two reports with two ids are two payments.
 */
function isMeant(one: HandledPayment, money: Claimed): boolean {
  const isToldTwice = one.source !== money.source && (isReport(money) || one.source === 'report');
  return isSameAttempt(one, money) && !one.isUncertain && (!one.isOther || isToldTwice);
}

function isReport({ source, isAssigned }: Claimed): boolean {
  return source === 'report' && isAssigned !== true;
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
 * `is_other`: one reference with two transaction ids. `refunded`: of the payment, under whichever of its names.
 */
export function handledSql(schema: string): string {
  const name = (column: string): string => `${schema}.payment_name(n.provider, n.${column})`;
  const rows = `SELECT o.*, false AS is_other FROM ${schema}.handled_payment o`;
  return `
    SELECT json_agg(json_build_object('provider', n.provider, 'reference', n.reference, 'account', n.account, 'fate', h.fate,
             'order_id', h.order_id, 'source', h.source, 'amount', h.amount::text, 'currency', h.currency, 'is_other', h.is_other,
             'payment', COALESCE(h.transaction::text, concat(h.reference, h.merchant_account)),
             'refunded', (SELECT max(r.amount)::text FROM ${schema}.handled_payment r
                           WHERE r.transaction = h.transaction AND r.order_id = h.order_id AND r.fate = 'refunded'),
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
  const isOwn = ({ order_id: id }: HandledRow): boolean => id !== null && id === orderId;
  return (rows ?? []).map((row) => toHandled(row, row.is_unresolved && !isOwn(row)));
}

function toHandled(row: HandledRow, isUncertain: boolean): HandledPayment {
  const { provider, reference, account, fate, source, currency, payment } = row;
  const merchantAccount = account === '' ? null : account;
  const amount = row.amount === null ? null : BigInt(row.amount);
  const refunded = row.refunded === null ? null : BigInt(row.refunded);
  const what = { provider, reference, merchantAccount, fate, source, currency, payment, amount, refunded };
  return { ...what, orderId: row.order_id, isOther: row.is_other, isUncertain };
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
  return `
    INSERT INTO ${schema}.handled_payment
           (reference, transaction, merchant_account, amount, currency, source, fate, order_id)
    SELECT ${schema}.payment_name(a.provider, a.reference), ${schema}.payment_name(a.provider, a.transaction_id),
           COALESCE(a.resolved_account, a.merchant_account), a.paid_amount, a.paid_currency,
           COALESCE(a.paid_source, 'report'),
           CASE WHEN a.status = 'SETTLED' THEN 'settled' WHEN ${isPart} THEN 'booked'
                WHEN ${isRefunded('a')} THEN 'refunded' ELSE 'booked' END, a.order_id
      FROM ${schema}.payment_attempt a
     WHERE a.order_id = ANY($1::text[]) AND a.status IN (${BOOKED_SQL}) AND ${isOpenName}
    UNION ALL
    SELECT ${schema}.payment_name(a.provider, a.reference), ${schema}.payment_name(p.provider, p.transaction_id),
           COALESCE(a.resolved_account, a.merchant_account), p.paid_amount, p.paid_currency, 'provider', 'booked', p.order_id
      FROM ${schema}.payment_attempt p JOIN ${schema}.payment_attempt a USING (order_id, provider)
     WHERE p.order_id = ANY($1::text[]) AND p.status IN (${BOOKED_SQL}) AND p.paid_source = 'provider'
           AND a.status = 'DUPLICATE' AND ${isOpenName}
    UNION ALL
    SELECT ${schema}.payment_name(a.provider, a.reference), ${schema}.payment_name(a.provider, a.transaction_id),
           COALESCE(a.resolved_account, a.merchant_account), ${refunded('sum(r.amount)', 'a')}, a.paid_currency, 'provider', 'refunded', a.order_id
      FROM ${schema}.payment_attempt a
     WHERE a.order_id = ANY($1::text[]) AND a.status IN (${BOOKED_SQL}) AND a.status <> 'SETTLED' AND ${isPart} AND ${isOpenName}
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

  /** The payment of this row counts again. Others under its reference stay settled, and what an order has in an attempt. */
  async forget(tx: EntityManager, id: string): Promise<void> {
    await tx.query(settledSql(this.database).forget, [id]);
  }
}

const settledSql = statements((schema) => ({
  remember: rememberSettledSql(schema, 'p.id = $1'),
  forget: `
      DELETE FROM ${schema}.handled_payment h USING ${schema}.unmatched_payment p
       WHERE p.id = $1 AND h.fate = 'settled' AND NOT EXISTS (
               SELECT 1 FROM ${schema}.payment_attempt a
                WHERE a.order_id = h.order_id AND a.provider = p.provider AND a.reference = p.reference)
             AND p.reason IN ('unknown-order', 'invalid-amount') AND (h.amount, h.currency) = (p.amount, p.currency)
             AND h.transaction IS NOT DISTINCT FROM ${schema}.payment_name(p.provider, p.evidence->>'transactionId')
             AND h.reference = ${schema}.payment_name(p.provider, p.reference) AND h.merchant_account = p.merchant_account`,
}));

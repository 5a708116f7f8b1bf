import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { announceAfterCommit, insertEvents } from '../../outbox';
import { TimeoutScheduler } from '../../timeouts';
import { Database, statements, storableJson } from '../../database';
import { present } from '../../errors';
import { OrderEventLog } from '../listeners/order-listeners';
import { outboxEvent } from '../model/transition';
import { closingsNow } from '../model/order-timeouts';
import { FAILED_REFUND_REASONS, HELD_MONEY_REASONS, reasonsSql, type UnmatchedMoney } from '../model/unmatched-money';
import { keptFromEnding } from './attempts';
import { type HandledRow, handledOf, handledSql, isRepetition, namesParameters, wasRefunded } from './handled-payments';

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
    private readonly scheduler: TimeoutScheduler,
  ) {
    this.keepSql = keepSql(database.schema, events.writesEvents);
  }

  async execute(tx: EntityManager, told: readonly UnmatchedMoney[]): Promise<void> {
    await this.keep(tx, await this.withoutRepetitions(tx, told));
  }

  private async keep(tx: EntityManager, money: readonly UnmatchedMoney[]): Promise<void> {
    if (money.length === 0) return;
    const { accounted, freed } = await withAccounts(tx, this.database, money);
    await this.scheduler.schedule(closingsNow(freed), { tx });
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
    return told.flatMap((money) => {
      const handled = money.reason === 'unknown-order' ? handledOf(row?.handled, money.orderId) : [];
      if (isRepetition(handled, money)) return [];
      return wasRefunded(handled, money) ? { ...money, evidence: { ...money.evidence, says: REFUNDED } } : money;
    });
  }
}

/** Whoever sees another amount than the one that went back could pay it back, too. */
const REFUNDED =
  'a payment of this name was refunded before its order was erased or purged; look there before you pay it back';

/** What the evidence calls the other orders that the payment was reported for. Nobody else may write it. */
export const OTHER_ORDERS = 'alsoReportedFor';

/** Each of them is told once. Whoever reports one payment for more orders than this is told nothing new by it. */
const MAX_OTHER_ORDERS = 20;

/** SQL: an excess beyond what was paid back or settled before, because that is counted. */
const IS_MORE = `(o.reason = 'overpaid' AND o.handling IN ('refunding', 'settled') AND EXCLUDED.handling = 'kept'
             AND 'report' NOT IN (o.source, EXCLUDED.source))`;

/** SQL: a refund that has failed again. Of a forgotten order, which has no refunds any more, nothing says so of a settled one. */
const IS_FAILED_AGAIN = `(o.reason IN (${reasonsSql(FAILED_REFUND_REASONS)}) AND o.handling <> 'kept'
             AND (o.handling <> 'settled' OR EXCLUDED.evidence ? 'refundNumber'))`;

function keepSql(schema: string, writesEvents: boolean): string {
  const isSame = `NOT ${isOtherPayment('o', 'EXCLUDED')}`;
  const isOpen = `o.handling IN ('kept', 'waiting')`;
  const isEscalated = `(o.handling = 'waiting' AND EXCLUDED.handling = 'kept' AND ${isSame})`;
  const isOther = `(o.amount, o.currency) <> (EXCLUDED.amount, EXCLUDED.currency)`;
  const isVouched = `(o.source = 'report' AND EXCLUDED.source = 'provider')`;
  const isOfOrder = `(o.order_id = EXCLUDED.order_id) IS NOT FALSE`;
  // An order had it or did not need to decide about it, which is not so anymore.
  const isLeftAgain = `(o.handling IN ('adopted', 'completed') AND EXCLUDED.handling = 'kept' AND (o.reason IN
             (${reasonsSql(HELD_MONEY_REASONS)}) OR o.reason = 'unknown-order' AND (${isOther} OR ${isVouched}) AND ${isOfOrder}
             OR o.reason = 'attempt-mismatch' AND (${isOther} OR ${isVouched} OR NOT ${isOfOrder})))`;
  // Such as that it is lost now, which a person who began a refund before did not know.
  const isNews = `(o.reason = 'chargeback' AND o.evidence <> EXCLUDED.evidence AND ${isSame})`;
  const isSettledAgain = `(o.handling = 'settled' AND (${isOther} OR ${isVouched} OR ${isNews}))`;
  const isReopened = `((${isSettledAgain} OR ${IS_FAILED_AGAIN} OR ${isLeftAgain} OR ${IS_MORE}) AND ${isSame})`;
  const isRestated = `(${isOpen} AND o.source = EXCLUDED.source AND ${isOther} AND ${isOfOrder} AND ${isSame})`;
  const isConfirmed = `(${isOpen} AND (${isVouched} OR ${isNews}))`;
  const isNamed = `(o.handling = 'kept' AND o.order_id IS NULL AND EXCLUDED.order_id IS NOT NULL AND ${isSame})`;
  const isTold = `(${isReopened} OR ${isRestated} OR ${isConfirmed})`;
  const otherOrders = `COALESCE(o.evidence->'${OTHER_ORDERS}', '[]')`;
  const isForAnother = `(o.order_id <> EXCLUDED.order_id AND ${isSame} AND NOT ${otherOrders} @> to_jsonb(EXCLUDED.order_id)
             AND jsonb_array_length(${otherOrders}) < ${MAX_OTHER_ORDERS})`;
  const withOther = `o.evidence || jsonb_build_object('${OTHER_ORDERS}', ${otherOrders} || to_jsonb(EXCLUDED.order_id))`;
  const resolved = ['resolved_at', 'resolved_by', 'resolution'];
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
           SET order_id = ${orderIdOf(isSame, `${isVouched} OR ${isLeftAgain}`)},
               handling = CASE WHEN ${isEscalated} OR ${isReopened} THEN 'kept' ELSE o.handling END,
               ${resolved.map((column) => `${column} = CASE WHEN NOT (${isReopened}) THEN o.${column} END`).join(', ')},
               created_at = CASE WHEN ${isNews} THEN clock_timestamp() ELSE o.created_at END,
               evidence = CASE WHEN ${isTold} THEN EXCLUDED.evidence WHEN ${isForAnother} THEN ${withOther} ELSE o.evidence END,
               ${['amount', 'currency', 'source'].map((column) => `${column} = CASE WHEN ${isTold} THEN EXCLUDED.${column} ELSE o.${column} END`).join(', ')}
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

/** SQL: a provider's word about another order than a report named is about that one, and so is what is told again. */
function orderIdOf(isSame: string, isAboutTold: string): string {
  const [known, told] = ['o.order_id', 'EXCLUDED.order_id'];
  return `CASE WHEN NOT (${isSame}) THEN ${known} WHEN ${isAboutTold} THEN COALESCE(${told}, ${known})
               ELSE COALESCE(${known}, ${told}) END`;
}

/** SQL: whether the provider, or reports, have stated both, and they are two payments. An id that is the reference tells nothing. */
function isOtherPayment(row: string, other: string): string {
  const [known, told] = [`${row}.evidence->>'transactionId'`, `${other}.evidence->>'transactionId'`];
  return `COALESCE(${row}.source = ${other}.source AND ${known} <> ${told} AND ${told} <> ${other}.reference, false)`;
}

/** A second payment under the name that tells it from the first. */
export function distinguished({ transactionId, reference, evidence, ...money }: UnmatchedMoney): UnmatchedMoney {
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
 *
 * @returns `freed`: the orders that a row may have kept from ending before it got its account
 */
async function withAccounts(
  tx: EntityManager,
  database: Database,
  money: readonly UnmatchedMoney[],
): Promise<{ readonly accounted: readonly UnmatchedMoney[]; readonly freed: readonly string[] }> {
  const known = await tx.query<Known[]>(accountSql(database).find, [
    money.map(({ provider }) => provider),
    money.map(({ reference }) => reference),
    money.map(({ reason }) => reason),
  ]);
  const accounted: UnmatchedMoney[] = [];
  const freed: string[] = [];
  for (const one of money) accounted.push(await withAccountOf(tx, database, one, { known, freed }));
  return { accounted, freed };
}

async function withAccountOf(
  tx: EntityManager,
  database: Database,
  one: UnmatchedMoney,
  { known, freed }: { readonly known: readonly Known[]; readonly freed: string[] },
): Promise<UnmatchedMoney> {
  // What an attempt holds is stored under the key of that attempt, which never changes.
  if (HELD_MONEY_REASONS.some((reason) => reason === one.reason)) return one;
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
  if (one.reason !== 'unknown-order') return { ...one, merchantAccount: null };
  // What an order has is at the account of its attempt. A row of another order may have the key already.
  if (unresolved.handling === 'adopted' || named.some(isThere)) return one;
  const orders = await tx.query<{ id: string }[]>(accountSql(database).resolve, [unresolved.id, account]);
  for (const { id } of orders) freed.push(id);
  return one;
}

const accountSql = statements((schema) => ({
  find: `
      SELECT p.id, p.provider, p.reference, p.reason, p.merchant_account AS account, p.order_id AS "orderId", p.handling
        FROM unnest($1::text[], $2::text[], $3::text[]) AS m(provider, reference, reason), LATERAL (
          SELECT * FROM ${schema}.unmatched_payment o
           WHERE o.provider = m.provider AND o.reference = m.reference AND o.reason = m.reason OFFSET 0) p`,
  resolve: `
      WITH p AS (
        UPDATE ${schema}.unmatched_payment SET merchant_account = $2 WHERE id = $1 AND merchant_account = ''
        RETURNING *, ${schema}.payment_name(provider, reference) AS name),
      settled AS (
        UPDATE ${schema}.handled_payment h SET merchant_account = $2 FROM p
         WHERE h.reference = p.name AND h.merchant_account = '' AND h.fate = 'settled' AND h.order_id IS NULL)
      ${keptFromEnding(schema)}`,
}));

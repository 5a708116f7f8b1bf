import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Database, statements, storableJson, storableText } from '../../database';
import { type AttemptWrite, type Money, type Told } from '../model/money';
import { type WaitingMoney } from '../model/decide-claim';
import { type PaymentAttempt, type AttemptKey } from '../model/order';
import {
  HELD_MONEY_REASONS,
  reasonsSql,
  PART_REASONS,
  type UnmatchedReason,
  WHOLE_PAYMENT_REASONS,
} from '../model/unmatched-money';
import { type DefaultAccounts, earlyMoney, lockPayments, mayBeUnknown, takenByOther } from './lock-orders';
import { attemptKeys } from './order-rows';

/**
 * Writes the current state of known attempts of locked orders in one statement, for any number of attempts. Rows that told
 * a person of money which an attempt turns out not to hold are closed: another attempt has it, or a report was wrong, also
 * about the currency, so that the money is told of for another reason.
 *
 * @throws Error if a row is missing although its order is locked. That is a bug; the transaction rolls back.
 */
export async function writeAttempts(
  tx: EntityManager,
  database: Database,
  writes: readonly AttemptWrite[],
): Promise<void> {
  if (writes.length === 0) return;
  const attempts = writes.map(({ attempt }) => attempt);
  const rows = await tx.query<unknown[]>(writeSql(database), [
    ...attemptKeys(attempts),
    attempts.map((attempt) => attempt.orderId),
    attempts.map((attempt) => attempt.status),
    attempts.map((attempt) => attempt.registered),
    attempts.map((attempt) => attempt.paidAmount?.toString() ?? null),
    attempts.map((attempt) => attempt.paidCurrency),
    attempts.map((attempt) => attempt.paidAt?.toISOString() ?? null),
    attempts.map(({ transactionId }) => (transactionId === null ? null : storableText(transactionId))),
    attempts.map((attempt) => attempt.paidSource),
    writes.map(({ evidence }) => (evidence === null ? null : storableJson(evidence))),
    attempts.map((attempt) => attempt.resolvedAccount),
    attempts.map((attempt) => attempt.assigned),
  ]);
  if (rows.length !== writes.length) throw new Error('a payment attempt disappeared under the lock of its order');
}

const writeSql = statements(
  (schema) => `
      WITH f AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::bigint[],
                             $8::text[], $9::timestamptz[], $10::text[], $11::text[], $12::text[], $13::text[],
                             $14::boolean[])
          AS f(provider, reference, merchant_account, order_id, status, registered, paid_amount, paid_currency, paid_at,
               transaction_id, paid_source, evidence, resolved_account, assigned)),
      answered AS (
        UPDATE ${schema}.unmatched_payment p SET handling = 'adopted'
          FROM f, LATERAL (
            SELECT o.id, o.reason FROM ${schema}.unmatched_payment o
             WHERE o.provider = f.provider AND o.reference = f.reference AND o.merchant_account = f.merchant_account
                   AND o.reason IN (${reasonsSql(HELD_MONEY_REASONS)})
                   AND o.handling IN ('kept', 'waiting') OFFSET 0) o
         WHERE p.id = o.id AND (f.paid_amount IS NULL OR o.reason IN (${reasonsSql(PART_REASONS)}) AND
                 (o.reason = 'amount-mismatch') <> (f.paid_currency = (SELECT x.currency FROM ${schema}.orders x WHERE x.id = f.order_id)))),
      written AS (
      UPDATE ${schema}.payment_attempt a
         SET status = f.status, registered = f.registered, assigned = f.assigned, paid_amount = f.paid_amount,
             paid_currency = f.paid_currency, paid_at = f.paid_at, transaction_id = f.transaction_id, paid_source = f.paid_source,
             resolved_account = COALESCE(a.resolved_account, f.resolved_account),
             evidence = COALESCE(f.evidence::jsonb, a.evidence), updated_at = now()
        FROM f
       WHERE a.provider = f.provider AND a.reference = f.reference AND a.merchant_account = f.merchant_account
             AND a.order_id = f.order_id
      RETURNING 1)
      SELECT 1 FROM written`,
);

/**
 * Registers an attempt, opens the order's own CREATED one, or makes the order's own what a report or a person has given it.
 * Undefined: the attempt exists already. `hasMoney`: its payment may have been reported before.
 */
export async function registerAttempt(
  tx: EntityManager,
  database: Database,
  attempt: PaymentAttempt,
  providers: DefaultAccounts,
): Promise<{ readonly hasMoney: boolean } | undefined> {
  // The key of its row differs from that of another order if only one of the two knows the account. And money of it that is
  // told now is not missed: it waits for this transaction, or is seen here.
  await lockPayments(tx, database, [attempt]);
  const values = [...parameters(attempt, null), mayBeUnknown(attempt, providers)];
  const [row] = await tx.query<{ has_money: boolean }[]>(insertSql(database).register, values);
  return row && { hasMoney: row.has_money };
}

export async function limitTime(
  tx: EntityManager,
  database: Database,
  { provider, reference, merchantAccount, timeExpire }: PaymentAttempt,
): Promise<void> {
  await tx.query(insertSql(database).limit, [
    provider,
    reference,
    merchantAccount ?? '',
    timeExpire?.toISOString() ?? null,
  ]);
}

/** Writes the attempt of a payment that was not registered. False: another order has it. */
export async function insertPaid(
  tx: EntityManager,
  database: Database,
  { attempt, evidence }: AttemptWrite,
): Promise<boolean> {
  return (await tx.query<unknown[]>(insertSql(database).pay, parameters(attempt, evidence))).length > 0;
}

const insertSql = statements((schema) => {
  const insert = `
      INSERT INTO ${schema}.payment_attempt AS a
             (provider, reference, order_id, merchant_account, status, amount, currency, time_expire,
              registered, paid_amount, paid_currency, paid_at, transaction_id, paid_source, evidence, assigned)
      SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::text, $8::timestamptz,
             $9::boolean, $10::bigint, $11::text, $12::timestamptz, $13::text, $14::text, $15::jsonb, $16::boolean`;
  const onConflict = 'ON CONFLICT (provider, reference, merchant_account) DO';
  const wanted = { provider: '$1', reference: '$2', orderId: '$3', account: '$4', mayBeUnknown: '$17::boolean' };
  return {
    // It is handed over now. Some providers depend on its age: the close of a young payment needs a confirmation.
    register: `${insert} WHERE ${takenByOther(schema, wanted)} IS NULL ${onConflict} UPDATE
         SET status = CASE a.status WHEN 'PAID' THEN 'PAID' ELSE EXCLUDED.status END,
             created_at = CASE a.status WHEN 'PAID' THEN a.created_at ELSE now() END, updated_at = now(),
             registered = true, assigned = false, amount = EXCLUDED.amount, currency = EXCLUDED.currency,
             time_expire = COALESCE(EXCLUDED.time_expire, a.time_expire)
       WHERE a.order_id = EXCLUDED.order_id
             AND (a.status = 'CREATED' OR a.status = 'PAID' AND (NOT a.registered OR a.assigned))
       RETURNING EXISTS ${earlyMoney(schema, wanted)} AS has_money`,
    limit: `
      UPDATE ${schema}.payment_attempt SET time_expire = $4, updated_at = now()
       WHERE provider = $1 AND reference = $2 AND merchant_account = $3`,
    pay: `${insert} ${onConflict} NOTHING RETURNING 1`,
  };
});

function parameters(attempt: PaymentAttempt, evidence: object | null): unknown[] {
  return [
    attempt.provider,
    attempt.reference,
    attempt.orderId,
    attempt.merchantAccount ?? '',
    attempt.status,
    attempt.amount.toString(),
    attempt.currency,
    attempt.timeExpire?.toISOString() ?? null,
    attempt.registered,
    attempt.paidAmount?.toString() ?? null,
    attempt.paidCurrency,
    attempt.paidAt?.toISOString() ?? null,
    attempt.transactionId === null ? null : storableText(attempt.transactionId),
    attempt.paidSource,
    evidence === null ? null : storableJson(evidence),
    attempt.assigned,
  ];
}

interface Row {
  readonly provider: string;
  readonly reference: string;
  readonly merchant_account: string;
}

/** The rows of unmatched money about payments that two orders have, or that wait although an order names them. */
@Injectable()
export class ContestedRows {
  constructor(private readonly database: Database) {}

  /** Lets `keepUnmatched` tell of these claims again, although a person has handled an earlier report of them. */
  async reopen(tx: EntityManager, claims: readonly PaymentAttempt[]): Promise<void> {
    await tx.query(rowsSql(this.database).reopen, nameParameters(claims));
  }

  /** Closes refused reports of payments that their own order now has and needs. A claim to another amount stays. */
  async close(tx: EntityManager, payments: readonly PaymentAttempt[]): Promise<void> {
    await tx.query(rowsSql(this.database).close, nameParameters(payments));
  }

  /** Closes what told a person that these payments are not needed, too little, or too much, for reasons that hold no more. */
  async closeOutdated(tx: EntityManager, told: readonly Told[]): Promise<void> {
    if (told.length === 0) return;
    const names = nameParameters(told.map(({ attempt }) => attempt));
    await tx.query(rowsSql(this.database).outdated, [...names, told.map(({ still }) => still.join())]);
  }

  async lostBy(tx: EntityManager, orderId: string): Promise<readonly AttemptKey[]> {
    return (await tx.query<Row[]>(rowsSql(this.database).lost, [orderId])).map(toKey);
  }

  /** The orders of which a person has settled all these claims to payments that others have, each with its amount. */
  async settledClaims(
    tx: EntityManager,
    claims: readonly (Money & Pick<PaymentAttempt, 'orderId'>)[],
  ): Promise<ReadonlySet<string>> {
    if (claims.length === 0) return new Set();
    const named = claims.map((one) => ({ ...one, paidAmount: one.amount, paidCurrency: one.currency }));
    const rows = await tx.query<{ id: string }[]>(rowsSql(this.database).settledClaims, nameParameters(named));
    return new Set(rows.map(({ id }) => id));
  }

  /** The reason of the row that a person has settled last about the money of this attempt. Undefined: the row is gone. */
  async settledReason(
    tx: EntityManager,
    { provider, reference, merchantAccount }: AttemptKey,
  ): Promise<UnmatchedReason | undefined> {
    const names = [provider, reference, merchantAccount ?? ''];
    return (await tx.query<{ reason: UnmatchedReason }[]>(rowsSql(this.database).settled, names))[0]?.reason;
  }

  /**
   * Those of these payments that the buyer's bank takes or has taken back. A settled row may mean either, or neither. The
   * bank's notification may have come under the provider's own id before that was known to be this payment.
   */
  async chargedBack(tx: EntityManager, payments: readonly PaymentAttempt[]): Promise<readonly AttemptKey[]> {
    if (payments.length === 0) return [];
    return (await tx.query<Row[]>(rowsSql(this.database).chargedBack, nameParameters(payments))).map(toKey);
  }

  /** Those of which a person has paid back the excess that a report had stated. Nothing counts that as gone. */
  async excessPaidBack(tx: EntityManager, payments: readonly PaymentAttempt[]): Promise<readonly AttemptKey[]> {
    return (await tx.query<Row[]>(rowsSql(this.database).excessPaidBack, nameParameters(payments))).map(toKey);
  }

  /** Confirmed money that no order has booked, and that names one of these orders or of their attempts, whatever its account. */
  async confirmedOf(tx: EntityManager, orderIds: readonly string[]): Promise<readonly WaitingMoney[]> {
    return tx.query<WaitingMoney[]>(rowsSql(this.database).confirmed, [orderIds]);
  }
}

const rowsSql = statements((schema) => {
  const table = `${schema}.unmatched_payment`;
  const isOpen = `p.handling IN ('kept', 'waiting')`;
  const isNamed = `p.provider = n.provider AND p.reference = n.reference AND p.merchant_account = n.account
             AND p.order_id = n.order_id`;
  const isClaim = `p.reason = 'attempt-mismatch'`;
  const named = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[])
               AS n(provider, reference, account, order_id, amount, currency, transaction)`;
  const toldNames = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[])
               AS n(provider, reference, merchant_account, order_id, amount, currency, transaction_id, still)`;
  const unresolved = 'resolved_at = NULL, resolved_by = NULL, resolution = NULL';
  // Other reasons are about payments that an order has booked. A notification of an attempt names no order.
  const isWaiting = `p.source = 'provider' AND p.reason IN ('unknown-order', 'attempt-mismatch', 'invalid-amount') AND ${isOpen}`;
  const waiting = `p.provider, p.reference, NULLIF(p.merchant_account, '') AS "merchantAccount", p.evidence->>'transactionId' AS "transactionId"`;
  return {
    reopen: `
      UPDATE ${table} p SET handling = 'waiting', ${unresolved} FROM ${named}
       WHERE ${isNamed} AND ${isClaim} AND NOT ${isOpen}`,
    close: `
      UPDATE ${table} p SET handling = 'adopted' FROM ${named}
       WHERE ${isNamed} AND ${isOpen} AND ${isClaim} AND p.amount = n.amount AND p.currency = n.currency`,
    outdated: `
      UPDATE ${table} p SET handling = CASE WHEN p.reason IN (${reasonsSql(PART_REASONS)}) THEN 'completed' ELSE 'adopted' END
        FROM ${toldNames}
       WHERE ${isAboutSql('n')} AND ${isOpen} AND p.reason IN (${reasonsSql(HELD_MONEY_REASONS)})
             AND p.reason <> ALL (string_to_array(n.still, ','))`,
    lost: `
      SELECT provider, reference, merchant_account FROM ${table}
       WHERE order_id = $1 AND reason = 'attempt-mismatch' AND handling IN ('kept', 'settled')`,
    // OFFSET 0: without statistics, the planner starts from all unmatched money.
    confirmed: `
      SELECT p.order_id AS "orderId", NULL AS attempt, ${waiting} FROM ${table} p
       WHERE p.order_id = ANY($1::text[]) AND ${isWaiting}
      UNION ALL
      SELECT a.order_id, a.reference, p.* FROM ${schema}.payment_attempt a, LATERAL (
          SELECT ${waiting} FROM ${table} p WHERE p.provider = a.provider AND p.reference = a.reference AND ${isWaiting}
          UNION ALL
          SELECT ${waiting} FROM ${table} p WHERE p.provider = a.provider AND p.evidence->>'reference' = a.reference
             AND p.source = 'provider' AND p.reason = 'unknown-order' AND p.handling = 'kept' OFFSET 0) p
       WHERE a.order_id = ANY($1::text[])`,
    chargedBack: `
      SELECT DISTINCT n.provider, n.reference, n.account AS merchant_account
        FROM ${named}, ${chargebacksOf(schema, 'n', 'n.transaction', 'n.account')} p`,
    excessPaidBack: `
      SELECT DISTINCT n.provider, n.reference, n.account AS merchant_account FROM ${named} JOIN ${table} p ON ${isNamed}
       WHERE p.reason = 'overpaid' AND p.handling = 'settled' AND p.source = 'report'`,
    // A second payment under one reference has a row under its transaction id. The account may be known to one side only.
    settledClaims: `
      SELECT n.order_id AS id FROM ${named} GROUP BY n.order_id HAVING bool_and(EXISTS (
        SELECT 1 FROM ${table} p
         WHERE p.provider = n.provider AND p.reference IN (n.reference, n.transaction) AND p.order_id = n.order_id
               AND (p.merchant_account = n.account OR '' IN (p.merchant_account, n.account)) AND ${isClaim}
               AND p.handling = 'settled' AND p.source = 'provider' AND p.amount = n.amount AND p.currency = n.currency
               AND p.evidence->>'transactionId' IS NOT DISTINCT FROM n.transaction))`,
    settled: `
      SELECT reason FROM ${table}
       WHERE provider = $1 AND reference = $2 AND merchant_account = $3 AND handling = 'settled'
         AND reason IN (${reasonsSql([...WHOLE_PAYMENT_REASONS, 'unknown-order'])}) ORDER BY resolved_at DESC LIMIT 1`,
  };
});

/**
 * SQL: a chargeback, under any name, of the payment of the refund r, or of one that its order keeps instead. It holds the
 * refund while it waits for a person, and until a person was told of that, who alone lets the refund go on. An operator who
 * began the refund after it knew of it. Automatic ones began before, whatever the two transactions say that began at one
 * time.
 *
 * @param isItsFailure SQL: p tells that the refund r failed, or is held
 */
export function chargebackSince(schema: string, isItsFailure: string): string {
  const isIts = '(a.reference, a.merchant_account) = (r.reference, r.merchant_account)';
  return `
               SELECT 1 FROM ${schema}.payment_attempt a
                 CROSS JOIN ${chargebacksOf(schema, 'a', 'a.transaction_id', 'a.merchant_account')} p
                WHERE a.order_id = r.order_id AND a.provider = r.provider
                      AND (${isIts} OR r.reason IN ('surplus', 'overpaid') AND a.status = 'PAID')
                      AND (r.reason <> 'operator' OR p.created_at >= r.created_at)
                      AND (p.handling = 'kept' OR NOT EXISTS (SELECT 1 FROM ${schema}.unmatched_payment p WHERE ${isItsFailure}))`;
}

/**
 * SQL: the orders that the unmatched money `p` may have kept from ending. OFFSET 0: whatever the planner estimates, first the
 * few attempts, then their orders.
 */
export function keptFromEnding(schema: string): string {
  return `
      SELECT DISTINCT o.id FROM p, LATERAL (
          SELECT p.order_id UNION ALL
          SELECT a.order_id FROM ${schema}.payment_attempt a
           WHERE a.provider = p.provider AND a.reference IN (p.reference, p.evidence->>'reference') OFFSET 0) named
        JOIN ${schema}.orders o ON o.id = named.order_id
       WHERE p.source = 'provider' AND (o.status = 'CLOSING' OR o.status = 'PENDING' AND o.expires_at <= now())`;
}

/**
 * SQL: the row p is about what the attempt n holds. If another payment had the reference before, the row has the transaction id
 * instead.
 */
export function isAboutSql(n: string): string {
  return `p.provider = ${n}.provider AND p.reference IN (${n}.reference, ${n}.transaction_id)
             AND ${n}.reference IN (p.reference, p.evidence->>'reference')
             AND p.merchant_account = ${n}.merchant_account AND p.order_id = ${n}.order_id`;
}

/**
 * SQL: the chargebacks of the payment n under any of its names, also under those of attempts that became other names of it.
 * An account that is not known may be any.
 */
function chargebacksOf(schema: string, n: string, transaction: string, account: string): string {
  const own = `(${n}.reference, ${transaction})`;
  // Of another payment under this reference, whose order is gone or not known, and with it what a person would decide about.
  const isOfForgotten = `(p.reference = ${n}.reference AND p.handling <> 'kept' AND (p.evidence->>'transactionId' = ${transaction}) IS FALSE
                       AND NOT EXISTS (SELECT 1 FROM ${schema}.orders o WHERE o.id = p.order_id))`;
  return `LATERAL (
           SELECT p.* FROM (
             SELECT unnest(ARRAY[${n}.reference, ${transaction}]) AS reference
             UNION
             SELECT unnest(ARRAY[d.reference, d.transaction_id]) FROM ${schema}.payment_attempt d
              WHERE d.provider = ${n}.provider AND d.status = 'DUPLICATE'
                    AND (d.reference IN ${own} OR d.transaction_id IN ${own})) name
             JOIN ${schema}.unmatched_payment p USING (reference)
            WHERE p.provider = ${n}.provider AND p.reason = 'chargeback' AND NOT ${isOfForgotten}
                  AND (p.merchant_account = ${account} OR '' IN (p.merchant_account, ${account})))`;
}

type Named = AttemptKey & Pick<PaymentAttempt, 'orderId' | 'paidAmount' | 'paidCurrency' | 'transactionId'>;

function nameParameters(attempts: readonly Named[]): unknown[] {
  return [
    ...attemptKeys(attempts),
    attempts.map(({ orderId }) => orderId),
    attempts.map(({ paidAmount }) => paidAmount?.toString() ?? null),
    attempts.map(({ paidCurrency }) => paidCurrency),
    attempts.map(({ transactionId }) => (transactionId === null ? null : storableText(transactionId))),
  ];
}

function toKey({ provider, reference, merchant_account: account }: Row): AttemptKey {
  return { provider, reference, merchantAccount: account === '' ? null : account };
}

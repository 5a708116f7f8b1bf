import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Database, statements, storableJson, storableText } from '../../database';
import { type PaymentEvidence, type RefundOutcome } from '../../payments';
import { type AttemptKey, type PaymentAttempt, type LockedOrder } from '../model/order';
import { chargebackSince, isAboutSql } from '../sql/attempts';
import { attemptKeys, type AttemptRow, ATTEMPT_COLUMNS, toAttempt } from '../sql/order-rows';
import {
  type Refund,
  FAILED_REFUND_REASONS,
  reasonsSql,
  isOfExcess,
  unmatchedFromAttempt,
} from '../model/unmatched-money';
import { present, assertNever } from '../../errors';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  TimeoutHandler,
} from '../../timeouts';
import { applyStep } from '../sql/order-transaction';
import { PaymentLookups } from '../lookup/payment-lookups';
import { busyOutcome, OWN_LIMITS, PAYMENT_REFUND } from '../model/order-timeouts';
import { OrderEventLog } from '../listeners/order-listeners';
import { causeOf, orderEvent, transition, type ActionContext } from '../model/transition';
import { OrderStore } from '../sql/order-store';
import { waitedMs, waitForUnknown } from '../model/findings';

interface RefundRow extends Pick<Refund, 'number' | 'provider' | 'reference' | 'currency' | 'reason'> {
  readonly merchant_account: string;
  readonly order_id: string;
  readonly amount: string;
  readonly status: 'PENDING' | 'REFUNDED';
  readonly refund_id: string | null;
  readonly is_confirmed: boolean;
  readonly is_taken_back: boolean;
  readonly attempt: AttemptRow;
}

export interface AskableRefund {
  readonly refund: Refund;
  readonly attempt: PaymentAttempt;
  /** The provider has confirmed it, and it is recorded as done. It may have failed since. */
  readonly isConfirmed: boolean;
  /** The buyer's bank takes the payment back, or one that its order keeps instead; no person has let the refund go on. */
  readonly isTakenBack: boolean;
  /** Set if a person has paid it back and recorded that in the row. Absent: the provider must be called. */
  readonly paidBackAs?: string;
}

/**
 * A refund decides nothing about these: whose money it is, what the bank does, or another refund. What the provider stated
 * may have been another payment under the same reference.
 */
const NOT_DECIDED = reasonsSql([
  ...(['attempt-mismatch', 'unknown-order', 'chargeback', 'invalid-amount', 'excess-refund-failed'] as const),
]);

@Injectable()
export class RefundRows {
  constructor(private readonly database: Database) {}

  /** @param requestedBy the operator who requested them. */
  async insert(tx: EntityManager, refunds: readonly Refund[], requestedBy?: string): Promise<void> {
    await tx.query(refundSql(this.database).insert, [
      refunds.map((refund) => refund.number),
      refunds.map((refund) => refund.provider),
      refunds.map((refund) => refund.reference),
      refunds.map((refund) => refund.orderId),
      refunds.map((refund) => refund.amount.toString()),
      refunds.map((refund) => refund.currency),
      refunds.map((refund) => refund.reason),
      refunds.map((refund) => refund.merchantAccount ?? ''),
      requestedBy ?? null,
    ]);
    // The money waited for the rest, which did not arrive, or for a person, who has decided.
    await tx.query(refundSql(this.database).note, [...attemptKeys(refunds), refunds.map((refund) => refund.reason)]);
  }

  async countExcess(
    tx: EntityManager,
    { provider, reference, merchantAccount }: AttemptKey,
    amount: number,
  ): Promise<void> {
    await tx.query(refundSql(this.database).excess, [provider, reference, merchantAccount ?? '', amount]);
  }

  /** Whether the excess of this payment was left to a person before, or refunded. A report decides nothing. */
  async isExcessDecided(tx: EntityManager, attempt: PaymentAttempt): Promise<boolean> {
    const { provider, reference, merchantAccount, transactionId, orderId } = attempt;
    const names = [provider, reference, merchantAccount ?? '', transactionId, orderId];
    return (await tx.query<unknown[]>(refundSql(this.database).decided, names)).length > 0;
  }

  /** The refunds among these that are not done, or that the provider has confirmed, by number. */
  async askable(numbers: readonly string[], tx?: EntityManager): Promise<ReadonlyMap<string, AskableRefund>> {
    const rows = await (tx
      ? tx.query<RefundRow[]>(refundSql(this.database).askable, [numbers])
      : this.database.query<RefundRow[]>(refundSql(this.database).askable, [numbers]));
    return new Map(rows.map((row) => [row.number, toAskableRefund(row)]));
  }

  ofOrder(tx: EntityManager, orderId: string): Promise<{ readonly number: string; readonly isConfirmed: boolean }[]> {
    return tx.query(refundSql(this.database).ofOrder, [orderId]);
  }

  /** Records that the money is refunded, and that no person needs to do it anymore. */
  async finish(
    tx: EntityManager,
    number: string,
    answer: { readonly refundId: string; readonly evidence: PaymentEvidence },
  ): Promise<void> {
    await tx.query(refundSql(this.database).finish, [
      number,
      storableText(answer.refundId),
      storableJson(answer.evidence),
    ]);
    await tx.query(refundSql(this.database).closeFailure, [number]);
  }

  async reopen(tx: EntityManager, number: string): Promise<void> {
    await tx.query(refundSql(this.database).reopen, [number]);
  }

  /**
   * Records that a person has paid back the money of a refund that failed.
   *
   * @param id of the unmatched payment that reports the failure.
   * @returns the number of the refund. Undefined: it is done, or the row reports something else.
   */
  async payBack(tx: EntityManager, id: string, how: string): Promise<string | undefined> {
    const [rows] = await tx.query<[{ number: string }[], number]>(refundSql(this.database).payBack, [
      id,
      storableText(how),
    ]);
    return rows[0]?.number;
  }

  /** Records that a person has not paid it back after all. Returns the number of the refund, which is pending again. */
  async takeBack(tx: EntityManager, id: string): Promise<string | undefined> {
    const [rows] = await tx.query<[{ number: string }[], number]>(refundSql(this.database).takeBack, [id]);
    return rows[0]?.number;
  }

  async hasPending(tx: EntityManager, orderId: string): Promise<boolean> {
    return (await tx.query<unknown[]>(refundSql(this.database).pending, [orderId])).length > 0;
  }
}

const refundSql = statements((schema) => {
  const isAttempt = 'a.provider = r.provider AND a.reference = r.reference AND a.merchant_account = r.merchant_account';
  // What a person has paid back has no evidence. Asking the provider for it could pay it back twice.
  const isConfirmed = `r.status = 'REFUNDED' AND r.evidence IS NOT NULL`;
  const isItsFailure = `p.provider = r.provider AND p.reference = r.reference AND p.merchant_account = r.merchant_account
             AND p.reason IN (${reasonsSql(FAILED_REFUND_REASONS)}) AND p.evidence->>'refundNumber' = r.number`;
  const pending = `status = 'PENDING', refund_id = NULL, refunded_at = NULL`;
  const hasFailed = `FROM ${schema}.unmatched_payment p WHERE p.id = $1 AND ${isItsFailure}`;
  return {
    insert: `
      WITH begun AS (
        INSERT INTO ${schema}.refund
               (number, provider, reference, order_id, amount, currency, reason, merchant_account, requested_by)
        SELECT r.*, $9::text
          FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[]) AS r
        ON CONFLICT DO NOTHING
        RETURNING *)
      UPDATE ${schema}.payment_attempt a SET refunded_amount = a.refunded_amount + r.amount, updated_at = now()
        FROM begun r WHERE r.reason = 'overpaid' AND ${isAttempt}`,
    note: `
      UPDATE ${schema}.unmatched_payment p SET handling = 'refunding'
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k(provider, reference, account, reason)
             JOIN ${schema}.payment_attempt a
               ON (a.provider, a.reference, a.merchant_account) = (k.provider, k.reference, k.account)
       WHERE ${isAboutSql('a')} AND p.handling IN ('waiting', 'kept') AND p.reason NOT IN (${NOT_DECIDED})
             AND (k.reason <> 'overpaid' OR p.reason = 'overpaid')`,
    excess: `
      UPDATE ${schema}.payment_attempt SET refunded_amount = GREATEST(refunded_amount + $4, 0), updated_at = now()
       WHERE provider = $1 AND reference = $2 AND merchant_account = $3`,
    decided: `
      SELECT 1 FROM ${schema}.unmatched_payment p, (
        SELECT $1::text AS provider, $2::text AS reference, $3::text AS merchant_account, $4::text AS transaction_id,
               $5::text AS order_id) a
       WHERE ${isAboutSql('a')} AND p.reason = 'overpaid' AND NOT (p.handling = 'kept' AND p.source = 'report' OR p.handling = 'adopted')`,
    askable: `
      SELECT r.number, r.provider, r.reference, r.merchant_account, r.order_id, r.amount, r.currency, r.reason, r.status, r.refund_id,
             ${isConfirmed} AS is_confirmed, EXISTS (${chargebackSince(schema, isItsFailure)}) AS is_taken_back,
             (SELECT row_to_json(found) FROM (
                SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a
                 WHERE ${isAttempt}) found) AS attempt
        FROM ${schema}.refund r
       WHERE r.number = ANY($1::text[]) AND (r.reason = 'overpaid' OR EXISTS (
         SELECT 1 FROM ${schema}.payment_attempt a
          WHERE ${isAttempt} AND (a.status = 'REFUNDING' OR a.status = 'REFUNDED' AND ${isConfirmed})))`,
    finish: `
      UPDATE ${schema}.refund SET status = 'REFUNDED', refund_id = $2, evidence = $3::jsonb, refunded_at = now()
       WHERE number = $1 AND status = 'PENDING'`,
    closeFailure: `
      UPDATE ${schema}.unmatched_payment p SET handling = 'refunding' FROM ${schema}.refund r
       WHERE r.number = $1 AND ${isItsFailure} AND p.handling = 'kept'`,
    reopen: `UPDATE ${schema}.refund SET ${pending}, evidence = NULL WHERE number = $1`,
    payBack: `
      UPDATE ${schema}.refund r SET status = 'REFUNDED', refund_id = $2, refunded_at = now() ${hasFailed}
         AND r.status = 'PENDING' RETURNING r.number`,
    takeBack: `
      UPDATE ${schema}.refund r SET ${pending} ${hasFailed} AND r.status = 'REFUNDED' AND r.evidence IS NULL RETURNING r.number`,
    ofOrder: `SELECT r.number, ${isConfirmed} AS "isConfirmed" FROM ${schema}.refund r WHERE r.order_id = $1`,
    pending: `SELECT 1 FROM ${schema}.refund WHERE order_id = $1 AND status = 'PENDING' LIMIT 1`,
  };
});

function toAskableRefund(row: RefundRow): AskableRefund {
  const { number, provider, reference, currency, reason } = row;
  const merchantAccount = row.merchant_account === '' ? null : row.merchant_account;
  const key = { provider, reference, merchantAccount };
  const refund = { number, ...key, currency, reason, orderId: row.order_id, amount: BigInt(row.amount) };
  const asked = {
    refund,
    attempt: toAttempt(row.attempt),
    isConfirmed: row.is_confirmed,
    isTakenBack: row.is_taken_back,
  };
  const isPaidBack = row.status === 'REFUNDED' && !row.is_confirmed;
  return isPaidBack ? { ...asked, paidBackAs: row.refund_id ?? 'by hand' } : asked;
}

type Due = DueTimeout<RefundAnswer>;

/**
 * Refunds payments: calls the provider with the refund's own number until it confirms the refund. Each refund is a
 * timeout, so it survives every crash. It is given up, with an alert, only if the provider rejects it. A refund that is
 * done is asked for again when the provider reports a change, because it may fail later.
 */
@TimeoutHandler(PAYMENT_REFUND, { lookUpConcurrency: 8, concurrency: 1, ...OWN_LIMITS })
export class RefundPayments implements TimeoutHandlerBatch<RefundAnswer> {
  constructor(
    private readonly store: OrderStore,
    private readonly refunds: RefundRows,
    private readonly lookups: PaymentLookups,
    private readonly events: OrderEventLog,
  ) {}

  async handleBatch(due: readonly Due[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const numbers = due.map((timeout) => timeout.key);
    const askable = await this.refunds.askable(numbers, tx);
    const orderIds = [...new Set([...askable.values()].map(({ refund }) => refund.orderId))];
    const { orders, now } = await this.store.lock(tx, orderIds, 'skip-locked');
    const outcomes: TimeoutOutcome[] = [];
    for (const timeout of due) outcomes.push(await this.settleOne(timeout, askable.get(timeout.key), orders, now, tx));
    return outcomes;
  }

  async lookUp(due: DueTimeout, signal: AbortSignal): Promise<RefundAnswer> {
    const asked = (await this.refunds.askable([due.key])).get(due.key);
    if (!asked || isOver(asked, due)) return { type: 'UNKNOWN', reason: 'the refund is done already' };
    if (asked.isTakenBack && !asked.isConfirmed) return TAKEN_BACK;
    return this.lookups.refund(asked.attempt, asked.refund, signal);
  }

  private async settleOne(
    due: Due,
    asked: AskableRefund | undefined,
    orders: ReadonlyMap<string, LockedOrder>,
    now: Date,
    tx: EntityManager,
  ): Promise<TimeoutOutcome> {
    if (!asked || isOver(asked, due)) return DONE;
    const answer = answerOf(asked, due);
    if (!answer) return LOOK_UP;
    const decide = asked.isConfirmed ? decideCheck : decideRefund;
    const decision = decide(answer, waitedMs(due, now));
    const isRejected = answer.type === 'REJECTED' || answer.type === 'TAKEN_BACK';
    if (decision.type === 'retry' && !isRejected) return decision;
    if (decision.type === 'stands') return DONE;
    const order = orders.get(asked.refund.orderId);
    if (!order) return busyOutcome(due, now);
    const by = causeOf(due);
    if (decision.type === 'failed')
      await this.reopen(tx, await this.currentOf(tx, order), asked, decision.reason, by, now);
    if (isRejected) await this.tellOfFailure(tx, asked, answer.reason, by, now);
    if (decision.type === 'retry' || decision.type === 'park') return decision;
    if (decision.type === 'failed')
      return { type: 'retry', counted: true, reason: `the refund failed after it was done: ${decision.reason}` };
    const evidence = answer.type === 'REFUNDED' ? answer.evidence : {};
    await this.refunds.finish(tx, asked.refund.number, { ...decision, evidence });
    await this.setAttemptStatus(tx, asked.refund, 'REFUNDED');
    await this.announce(tx, await this.currentOf(tx, order), { ...asked.refund, refundId: decision.refundId }, by, now);
    const check = isCheck(due) && !asked.paidBackAs ? decideCheck(answer, waitedMs(due, now)) : undefined;
    return check?.type === 'retry' ? check : DONE;
  }

  /** The money is back at the merchant. The refund is pending again. */
  private async reopen(
    tx: EntityManager,
    order: LockedOrder,
    { refund }: AskableRefund,
    says: string,
    by: ActionContext,
    now: Date,
  ): Promise<void> {
    const { refunds, store } = this;
    const reason = 'refund-failed';
    const evidence = { refundNumber: refund.number, says };
    await refunds.reopen(tx, refund.number);
    await this.setAttemptStatus(tx, refund, 'REFUNDING');
    if (order.status === 'CLOSED_REFUNDED')
      await applyStep(store, tx, transition(order, 'REFUNDING', { by, now, reason, evidence, details: { reason } }));
  }

  /** Tells a person, who may pay the buyer back by other means. Repeated calls of one failure change nothing. */
  private async tellOfFailure(
    tx: EntityManager,
    { refund, attempt }: AskableRefund,
    says: string,
    { traceparent }: ActionContext,
    now: Date,
  ): Promise<void> {
    const reason = isOfExcess(refund) ? 'excess-refund-failed' : 'refund-failed';
    const failed = unmatchedFromAttempt(attempt, { reason, handling: 'kept', now, traceparent });
    const evidence = { refundNumber: refund.number, says };
    await this.store.keepUnmatched(tx, [{ ...failed, amount: refund.amount, evidence }]);
  }

  /** An attempt whose excess goes back stays PAID by the rest. */
  private async setAttemptStatus(tx: EntityManager, refund: Refund, status: 'REFUNDING' | 'REFUNDED'): Promise<void> {
    if (!isOfExcess(refund)) await this.store.setAttemptStatus(tx, [refund], status);
  }

  /** Another refund of the same batch may have changed the order. */
  private async currentOf(tx: EntityManager, order: LockedOrder): Promise<LockedOrder> {
    const { orders } = await this.store.lock(tx, [order.id], 'wait');
    return present(orders.get(order.id), `order ${order.id}, locked before`);
  }

  /** Sends `order.refunded`. For the last refund of an order that ended unpaid, it is part of the transition. */
  private async announce(
    tx: EntityManager,
    order: LockedOrder,
    refund: Refund & { readonly refundId: string },
    by: ActionContext,
    now: Date,
  ): Promise<void> {
    const { number: refundNumber, provider, reference, refundId, reason } = refund;
    const money = { refundedAmount: Number(refund.amount), refundedCurrency: refund.currency };
    const details = { refundNumber, refundId, provider, reference, ...money, reason };
    const isLast = order.status === 'REFUNDING' && !(await this.refunds.hasPending(tx, order.id));
    if (isLast) {
      const step = transition(order, 'CLOSED_REFUNDED', { by, now, reason, evidence: details, details });
      return applyStep(this.store, tx, step);
    }
    const facts = { ...details, cause: by.cause };
    const event = orderEvent('order.refunded', order, order.version, now, facts, by.traceparent);
    await this.events.append(tx, [event]);
  }
}

/** A refund that is done is asked for again only if a notification has scheduled that. */
function isOver({ isConfirmed }: AskableRefund, due: DueTimeout): boolean {
  return isConfirmed && !isCheck(due);
}

function isCheck({ payload }: DueTimeout): boolean {
  return payload['isCheck'] === true;
}

/** The known answer for the refund. A person's note outweighs the provider, which then need not be called. */
function answerOf({ paidBackAs }: AskableRefund, { answer }: Due): RefundAnswer | undefined {
  return paidBackAs === undefined ? answer : { type: 'REFUNDED', refundId: paidBackAs, evidence: {} };
}

type NotYet = Extract<TimeoutOutcome, { type: 'retry' | 'park' }>;

type RefundDecision = { readonly type: 'refunded'; readonly refundId: string } | NotYet;

/** The result of asking again for a refund that the provider had confirmed. */
type CheckDecision = { readonly type: 'stands' } | { readonly type: 'failed'; readonly reason: string } | NotYet;

/** The answer; `NO_PROVIDER`: this process cannot call the provider; `TAKEN_BACK`: it must not be called. */
export type RefundAnswer = RefundOutcome | { readonly type: 'NO_PROVIDER' | 'TAKEN_BACK'; readonly reason: string };

const TAKEN_BACK: RefundAnswer = {
  type: 'TAKEN_BACK',
  reason: 'held by a chargeback, though the provider may have it already; settle that row, then this one, or replay',
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Between two requests of one refund. */
const LEAST_MS = 5 * SECOND;

/** Longer than the lag of a provider's read replica. After this time, its answer is trusted. */
const DOUBT_MS = MINUTE;

/**
 * Pure: decides how a refund continues. `waitedMs`: since it was first requested. A refund never expires. It is parked with
 * an alert after a day without a clear answer, because some causes, such as a merchant that is no longer configured,
 * need a person.
 */
export function decideRefund(answer: RefundAnswer, waitedMs: number): RefundDecision {
  switch (answer.type) {
    case 'REFUNDED':
      return { type: 'refunded', refundId: answer.refundId };
    case 'PENDING':
      return retry('the provider is working on the refund', pendingMs(waitedMs));
    case 'UNKNOWN':
      return { type: 'retry', ...waitForUnknown(answer, waitedMs, LEAST_MS) };
    // Both need a person, so they count: the refund is parked with the reason and an alert.
    case 'REJECTED':
      return { type: 'retry', counted: true, reason: `the provider rejects the refund: ${answer.reason}` };
    case 'NO_PROVIDER':
      return { type: 'retry', counted: true, reason: answer.reason };
    // Only a person lets it go on, who may respond to the chargeback before the bank has decided.
    case 'TAKEN_BACK':
      return { type: 'park', reason: answer.reason };
    default:
      return assertNever(answer);
  }
}

/**
 * Pure: decides about a refund that was done when the provider reported a change. `waitedMs`: since the first question. Banks return some
 * refunds after days, for example to a card that no longer exists.
 */
export function decideCheck(answer: RefundAnswer, waitedMs: number): CheckDecision {
  if (answer.type === 'REJECTED') return { type: 'failed', reason: answer.reason };
  const decision = decideRefund(answer, waitedMs);
  if (decision.type !== 'refunded') return decision;
  return waitedMs < DOUBT_MS ? retry('the provider still confirms the refund', DOUBT_MS) : { type: 'stands' };
}

/** Cards take seconds, bank accounts take days. */
function pendingMs(waitedMs: number): number {
  if (waitedMs < MINUTE) return 5 * SECOND;
  return waitedMs < HOUR ? MINUTE : 10 * MINUTE;
}

function retry(reason: string, afterMs: number): Extract<RefundDecision, { type: 'retry' }> {
  return { type: 'retry', counted: false, reason, afterMs, answers: 'clear' };
}

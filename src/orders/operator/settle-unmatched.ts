import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { ChangedMeanwhileError, Database } from '../../database';
import { type OperatorOptions, transition, byOperator } from '../model/transition';
import { isDue } from '../model/plan-closing';
import { checkUnmatched } from '../input/check-input';
import {
  type LockedOrder,
  accountOfAttempt,
  areTwoPayments,
  isBooked,
  isOtherPayment,
  isSamePayment,
  isSettledReport,
  isUnconfirmed,
  type PaymentAttempt,
  withStatus,
  isUndecided,
} from '../model/order';
import { isPaidFor, type LockedOrderContext, OrderTransaction, applyStep, type Why } from '../sql/order-transaction';
import { refundTimeout } from '../model/order-timeouts';
import { isPaidBy, neededPayments } from '../model/decide-claim';
import { SettledPayments } from '../sql/handled-payments';
import {
  isAbout,
  type UnmatchedPayment,
  UnmatchedRows,
  evidenceOfUnmatched,
  isOpen,
  namesOf,
} from '../unmatched/unmatched-payment';
import {
  FAILED_REFUND_REASONS,
  type UnmatchedHandling,
  type UnmatchedReason,
  WHOLE_PAYMENT_REASONS,
  unmatchedFromAttempt,
} from '../model/unmatched-money';
import { HandleUnmatched } from '../unmatched/handle-unmatched';
import { PaymentWatch } from '../unmatched/payment-watch';
import { RefundRows } from '../unmatched/refunds';
import { AssignUnmatched, type AssignUnmatchedResult, type UnmatchedAssignment } from './assign-unmatched';

const BEGINNING = '00000000-0000-0000-0000-000000000000';

/** Which unmatched payments to list. */
export interface UnmatchedPage {
  /** 1 to 1000. @default 100 */
  readonly limit?: number | undefined;
  /** The last id of the previous page. */
  readonly after?: string | undefined;
  /** Only payments whose order belongs to one of these, which excludes payments without an order. @default all */
  readonly merchants?: readonly string[] | undefined;
}

export interface UnmatchedSettlement {
  /** Id of the row in unmatched_payment. */
  readonly id: string;
  /** What was done about it, for the history. */
  readonly reason: string;
}

/** It does not wait, or was not settled; see `handling`. */
interface Handled {
  readonly outcome: 'rejected';
  readonly code: 'UNMATCHED_PAYMENT_HANDLED';
  readonly handling: UnmatchedHandling;
}

interface NotFound {
  readonly outcome: 'rejected';
  readonly code: 'UNMATCHED_PAYMENT_NOT_FOUND';
}

export type SettleUnmatchedResult =
  { readonly outcome: 'settled'; readonly payment: UnmatchedPayment } | NotFound | Handled;

/**
 * `reopened`: it counts as money again, or did so before. The payment's `handling` says what becomes of it: `kept` waits for
 * a person.
 */
export type ReopenUnmatchedResult =
  { readonly outcome: 'reopened'; readonly payment: UnmatchedPayment } | NotFound | Handled;

/**
 * Rows about money that an attempt of their order holds. Other rows are about a claim to a payment, or about what becomes
 * of a payment that an order needs.
 */
const IS_ABOUT_ITS_MONEY: readonly UnmatchedReason[] = WHOLE_PAYMENT_REASONS;

/** The order that the payment names or belongs to; none if it is unknown. */
interface Found extends Omit<LockedOrderContext, 'order'> {
  readonly order: LockedOrder | undefined;
  readonly payment: UnmatchedPayment;
}

/**
 * Records that a person has handled unmatched money outside of this system. It moves no money. From then on, the payment
 * counts as no money, until a person reopens it. Both are idempotent.
 */
@Injectable()
export class SettleUnmatched {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly rows: UnmatchedRows,
    private readonly watch: PaymentWatch,
    private readonly settled: SettledPayments,
    private readonly refunds: RefundRows,
    private readonly unmatched: HandleUnmatched,
  ) {}

  /** @throws InvalidOrderError if the request is invalid. */
  execute(request: UnmatchedSettlement, options: OperatorOptions = {}): Promise<SettleUnmatchedResult> {
    return this.withPayment<SettleUnmatchedResult>(request, options, async (found, why) => {
      const { payment } = found;
      if (payment.handling === 'settled') return { outcome: 'settled', payment };
      if (!isOpen(payment)) return handled(payment);
      if (await this.isBeingRefunded(found)) return handled({ ...payment, handling: 'refunding' });
      for (const row of [payment, ...(await this.rows.twins(found.tx, payment.id, 'kept'))]) {
        await this.rows.resolve(found.tx, row.id, 'settled', why);
        if (outlivesRow(row, found.order)) await this.settled.remember(found.tx, row.id);
      }
      await this.endRefund(found.tx, payment.id, why.reason);
      if (!(await this.move(found, 'PAID', 'SETTLED'))) await this.decideAnew(found);
      await this.countExcess(found, 1);
      await this.tellHolders(found, why);
      await this.note(found, why);
      return { outcome: 'settled', payment: await this.read(found) };
    });
  }

  /** An order may have got the payment by a report since the person looked, and then counts on what was paid back. */
  private async tellHolders({ tx, now, payment }: Found, { by: { traceparent } }: Why): Promise<void> {
    if (!isOwnerless(payment) || payment.source !== 'provider') return;
    const { store } = this.transaction;
    const names = namesOf(payment);
    const { attempts } = await store.samePayments(tx, [names]);
    const holders = attempts.filter((one) => one.status === 'PAID' && !isOtherPayment(one, names));
    const why = { reason: 'attempt-mismatch', handling: 'kept', now, traceparent } as const;
    const told = holders.map((attempt) => unmatchedFromAttempt(attempt, why));
    await store.keepUnmatched(tx, told);
  }

  /**
   * Takes a settlement back. The payment counts as money again, and the policies decide about it at once.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  reopen(request: UnmatchedSettlement, options: OperatorOptions = {}): Promise<ReopenUnmatchedResult> {
    return this.withPayment<ReopenUnmatchedResult>(request, options, async (found, why) => {
      const { payment } = found;
      if (payment.handling !== 'settled' && !isOpen(payment)) return handled(payment);
      const twins = await this.rows.twins(found.tx, payment.id, 'settled');
      // A row that another amount has opened again still counts as settled.
      for (const { id } of [payment, ...twins]) await this.settled.forget(found.tx, id);
      // Of early money, the row that names no order is about the payment itself.
      const early = [payment, ...twins].find(isOwnerless);
      const moved = await this.move({ ...found, payment: early ?? payment }, 'SETTLED', 'PAID');
      const recounted = isOpen(payment) ? undefined : await this.countExcess(found, -1);
      if (isOpen(payment) && !moved) return { outcome: 'reopened', payment };
      for (const row of [payment, ...twins]) {
        // Whoever has claimed the payment for another order is told of that again.
        const isClaim = row !== payment && row.source === 'report';
        if (moved && early && !isClaim) await this.handOver({ ...found, payment: row }, moved.attempt, why);
        else
          await this.rows.reopen(found.tx, row.id, moved ? this.unmatched.handlingOf(row.reason, moved.order) : 'kept');
      }
      const after = moved?.order ?? recounted;
      const order = await this.note(await this.resumeRefund({ ...found, order: after ?? found.order }, why), why);
      // The payment may pay the order from now on, instead of another one or with it, or be refunded like any other.
      if (after && order) await this.unmatched.execute(order, { tx: found.tx, by: why.by, now: found.now });
      return { outcome: 'reopened', payment: await this.read(found) };
    });
  }

  private withPayment<T>(
    request: UnmatchedSettlement,
    { by, tx: caller }: OperatorOptions,
    work: (found: Found, why: Why) => Promise<T>,
  ): Promise<T | NotFound> {
    checkUnmatched('settlement', request);
    return this.transaction.database.run<T | NotFound>(caller, async (tx) => {
      const { store } = this.transaction;
      const found = await this.rows.find(tx, request.id);
      // Does not adopt its money, unlike other actions: the operator says what has become of it.
      const orderId = await this.orderIdOf(tx, found);
      const { orders, now } = await store.lock(tx, orderId === '' ? [] : [orderId], 'wait');
      if (found && isOwnerless(found)) {
        await store.lockPayments(tx, [namesOf(found)]);
        if ((await this.orderIdOf(tx, found)) !== orderId)
          throw new ChangedMeanwhileError(`another transaction has booked the payment ${found.reference}`);
      }
      const payment = await this.rows.lock(tx, request.id);
      if (!payment) return { outcome: 'rejected', code: 'UNMATCHED_PAYMENT_NOT_FOUND' };
      const why = { by: byOperator(by), reason: request.reason };
      return work({ tx, now, payment, order: orders.get(orderId) }, why);
    });
  }

  /** An order may have registered the attempt after its payment was settled without one. */
  private async orderIdOf(tx: EntityManager, payment: UnmatchedPayment | undefined): Promise<string> {
    if (!payment || !isOwnerless(payment)) return payment?.orderId ?? '';
    const { attempts } = await this.transaction.store.samePayments(tx, [namesOf(payment)]);
    const twins = await this.rows.twins(tx, payment.id, 'kept');
    const twin = twins.find(({ source }) => source === 'provider');
    const held = attempts.find((one) => one.status === 'SETTLED' && isOfRow(one, payment));
    return held?.orderId ?? payment.orderId ?? twin?.orderId ?? '';
  }

  /** The order has the money from now on: it is decided about, or waits for a person if the order has ended. */
  private async handOver({ tx, now, order, payment }: Found, attempt: PaymentAttempt, why: Why): Promise<void> {
    await this.rows.resolve(tx, payment.id, 'adopted', why);
    if (!order) return;
    if (isUndecided(order.status)) {
      await this.transaction.store.decideNow(tx, order.id);
      return;
    }
    if (order.status === 'PAID') return;
    const row = { reason: 'late', handling: 'kept', now, traceparent: why.by.traceparent } as const;
    await this.transaction.store.keepUnmatched(tx, [unmatchedFromAttempt(attempt, row)]);
  }

  /**
   * Writes the decision on the attempt that holds the money, so that it outlives the row. Undefined: there is none.
   *
   * @returns the attempt and its order after that
   */
  private async move(
    { tx, now, order, payment }: Found,
    from: PaymentAttempt['status'],
    to: 'SETTLED' | 'PAID',
  ): Promise<{ readonly attempt: PaymentAttempt; readonly order: LockedOrder } | undefined> {
    const held = order && heldAttempt(order, payment, from);
    if (!order || !held) return undefined;
    const attempt = withStatus(held, to);
    await this.transaction.store.writeAttempts(tx, [{ attempt, evidence: null }]);
    // Nothing else looks whether it is paid at its provider after all.
    if (isSettledReport(attempt)) await this.watch.begin(tx, [{ ...order, attempts: [attempt] }], now);
    const after = { ...order, attempts: order.attempts.map((one) => (one === held ? attempt : one)) };
    await this.decideAnew({ tx, now, order: after });
    return { attempt, order: after };
  }

  /** The money that kept the order from closing, or that would pay it, is gone or back. */
  private async decideAnew({ tx, now, order }: Pick<Found, 'tx' | 'now' | 'order'>): Promise<void> {
    if (order && (isDue(order, now) || isPaidFor(order))) await this.transaction.store.decideNow(tx, order.id);
  }

  /**
   * A settled excess counts as gone, so that it is not refunded with the rest. What a report states may be wrong. Returns the
   * order after that; undefined: it is not about an excess.
   */
  private async countExcess({ tx, order, payment }: Found, sign: 1 | -1): Promise<LockedOrder | undefined> {
    if (!order || payment.reason !== 'overpaid') return undefined;
    // The whole payment may have been settled since.
    const isIts = ({ status }: PaymentAttempt): boolean => status === 'PAID' || (status === 'SETTLED' && sign < 0);
    const attempt = order.attempts.find((one) => isIts(one) && one.paidSource === 'provider' && isAbout(payment, one));
    const amount = sign * payment.amount;
    // That of a report was not counted.
    if (!attempt || attempt.refundedAmount + BigInt(amount) < 0n) return order;
    await this.refunds.countExcess(tx, attempt, amount);
    const counted = { ...attempt, refundedAmount: attempt.refundedAmount + BigInt(amount) };
    return { ...order, attempts: order.attempts.map((one) => (one === attempt ? counted : one)) };
  }

  private async note({ tx, order, payment }: Found, why: Why): Promise<LockedOrder | undefined> {
    if (!order) return undefined;
    const { version } = await this.transaction.amend(tx, order, {}, { ...why, evidence: evidenceOfUnmatched(payment) });
    return { ...order, version };
  }

  private async read({ tx, payment }: Found): Promise<UnmatchedPayment> {
    return (await this.rows.find(tx, payment.id)) ?? payment;
  }

  /** Whether the provider is being asked for a refund that had failed. Its answer must not be lost if it refunds it now. */
  private async isBeingRefunded({ tx, payment: { reason, evidence } }: Found): Promise<boolean> {
    const number = evidence['refundNumber'];
    if (!FAILED_REFUND_REASONS.some((one) => one === reason) || typeof number !== 'string') return false;
    const [pending] = await this.transaction.scheduler.lock(tx, [refundTimeout(number)]);
    return pending?.isLookedUp === true;
  }

  /** If the payment is that of a refund that failed, the person has paid it back, so nobody else may. */
  private async endRefund(tx: EntityManager, id: string, how: string): Promise<void> {
    const number = await this.refunds.payBack(tx, id, how);
    if (number !== undefined)
      await this.transaction.scheduler.schedule([{ ...refundTimeout(number), afterMs: 0 }], { tx });
  }

  /** The person has not paid it back after all, so its provider is asked again. Returns what is then found. */
  private async resumeRefund(found: Found, { by, reason }: Why): Promise<Found> {
    const { tx, now, order, payment } = found;
    const number = await this.refunds.takeBack(tx, payment.id);
    if (number === undefined) return found;
    const { store, scheduler } = this.transaction;
    await scheduler.schedule([{ ...refundTimeout(number), afterMs: 0 }], { tx });
    const isBack = (one: PaymentAttempt): boolean => one.status === 'REFUNDED' && isAbout(payment, one);
    const attempts = payment.reason === 'refund-failed' ? (order?.attempts.filter(isBack) ?? []) : [];
    if (attempts.length > 0) await store.setAttemptStatus(tx, attempts, 'REFUNDING');
    if (order?.status !== 'CLOSED_REFUNDED') return found;
    const details = { reason: payment.reason };
    await applyStep(store, tx, transition(order, 'REFUNDING', { by, now, reason, details }));
    return { ...found, order: { ...order, status: 'REFUNDING', version: order.version + 1 } };
  }
}

/** Money that no order takes and that waits for a person or for the deadline of its order. Get it from `orders.unmatched`. */
@Injectable()
export class UnmatchedPayments {
  /** @internal Nest creates it. */
  constructor(
    private readonly database: Database,
    private readonly rows: UnmatchedRows,
    private readonly assigning: AssignUnmatched,
    private readonly settling: SettleUnmatched,
  ) {}

  /** Lists payments with the handling `kept` or `waiting`, oldest first. */
  list({ limit = 100, after = BEGINNING, merchants }: UnmatchedPage = {}): Promise<UnmatchedPayment[]> {
    return this.rows.page(this.database.dataSource, { limit, after, merchants });
  }

  /** Reads one of them, handled or not. Undefined: there is none. */
  get(id: string, { merchants }: Pick<UnmatchedPage, 'merchants'> = {}): Promise<UnmatchedPayment | undefined> {
    return this.rows.find(this.database.dataSource, id, merchants);
  }

  /**
   * Operator: books the payment on the order that was paid, by the rules for every payment. Idempotent.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  assign(request: UnmatchedAssignment, options?: OperatorOptions): Promise<AssignUnmatchedResult> {
    return this.assigning.execute(request, options);
  }

  /**
   * Operator: records that the payment was handled outside of this system. It moves no money. From then on, the payment
   * counts as no money: it pays and revives no order, and is not refunded. Idempotent.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  settle(request: UnmatchedSettlement, options?: OperatorOptions): Promise<SettleUnmatchedResult> {
    return this.settling.execute(request, options);
  }

  /**
   * Operator: takes a settlement back. The payment counts as money again, and the policies decide about it at once: its
   * `handling` says whether it waits for a person. Idempotent.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  reopen(request: UnmatchedSettlement, options?: OperatorOptions): Promise<ReopenUnmatchedResult> {
    return this.settling.reopen(request, options);
  }

  /** @internal The number of payments that `list` has, at most `limit`. */
  countOpen(limit: number, merchants?: readonly string[]): Promise<number> {
    return this.rows.countOpen(this.database.dataSource, limit, merchants);
  }

  /** @internal The number of payments that wait for a person: those with the handling `kept`. */
  countKept(): Promise<number> {
    return this.rows.countKept(this.database.dataSource);
  }
}

/**
 * Pure: returns the attempt of the order that holds the money which the row is about, if it has this status. A PAID order
 * keeps what pays it: the row may be that of a false report which named the same payment.
 */
export function heldAttempt(
  order: LockedOrder,
  payment: UnmatchedPayment,
  status: PaymentAttempt['status'],
): PaymentAttempt | undefined {
  const isEarly = isOwnerless(payment) && status === 'SETTLED';
  if (!isEarly && !IS_ABOUT_ITS_MONEY.includes(payment.reason)) return undefined;
  // The row has the key of its attempt, which may have got its account later.
  const own = order.attempts.find((attempt) => isAbout(payment, attempt));
  const names = { ...namesOf(payment), ...(own ? { merchantAccount: accountOfAttempt(own) } : {}) };
  const isMeant = (attempt: PaymentAttempt): boolean =>
    attempt.status === status &&
    isSamePayment(attempt, names) &&
    (isOwnerless(payment) ? isOfRow(attempt, payment) : !areTwoPayments(attempt, names));
  return order.attempts.find(
    (attempt) => isMeant(attempt) && !(status === 'PAID' && staysPaid(order, attempt, payment)),
  );
}

/** Whether the attempt has what the row is about. Anybody may report that it is what a provider has told. */
function isOfRow(attempt: PaymentAttempt, row: UnmatchedPayment): boolean {
  return !areTwoPayments(attempt, namesOf(row)) && (row.source === 'report' || attempt.paidSource === 'provider');
}

/** A part of a PAID order that has too little does not pay it. A mere report says nothing of what a provider has confirmed. */
function staysPaid(order: LockedOrder, attempt: PaymentAttempt, { source }: UnmatchedPayment): boolean {
  if (order.status !== 'PAID') return false;
  return (
    isPaidBy(order, attempt) ||
    (source === 'report' && !isUnconfirmed(attempt) && neededPayments(order).includes(attempt))
  );
}

/** Pure: whether the row is about money of a reference that no order had registered. */
export function isOwnerless({ reason, orderId }: Pick<UnmatchedPayment, 'reason' | 'orderId'>): boolean {
  return reason === 'unknown-order' || (reason === 'invalid-amount' && orderId === null);
}

/** Pure: whether the settlement of this row is remembered, because no attempt of its order holds what it is about. */
export function outlivesRow(row: UnmatchedPayment, order: LockedOrder | undefined): boolean {
  if (isOwnerless(row)) return true;
  const names = namesOf(row);
  const isIts = (one: PaymentAttempt): boolean =>
    isBooked(one) && isSamePayment(one, names) && !areTwoPayments(one, names);
  return row.reason === 'invalid-amount' && order?.attempts.some(isIts) !== true;
}

function handled({ handling }: UnmatchedPayment): Handled {
  return { outcome: 'rejected', code: 'UNMATCHED_PAYMENT_HANDLED', handling };
}

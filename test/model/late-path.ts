import { insufficientParts, moneyReceived } from '../../src/orders/model/money';
import {
  decideLate,
  type RefundDecision,
  type LateOrSurplus,
  stillTold,
} from '../../src/orders/unmatched/handle-unmatched';
import { Claims } from './claims';
import { isOpen } from '../../src/orders/unmatched/unmatched-payment';
import { type UnmatchedRow } from './unmatched-table';
import {
  HELD_MONEY_REASONS,
  type LockedContext,
  refundOf,
  type RefundReason,
  unmatchedFromAttempt,
  type UnmatchedHandling,
} from '../../src/orders/model/unmatched-money';
import { firstRoundAt, isWatched } from '../../src/orders/unmatched/payment-watch';
import {
  type LockedOrder,
  isUndecided,
  type OrderStatus,
  isSameRow,
  type PaymentAttempt,
} from '../../src/orders/model/order';
import { reconcileTimeout, PAYMENT_REFUND, ORDER_LATE_WATCH } from '../../src/orders/model/order-timeouts';
import { transition, type ActionContext } from '../../src/orders/model/transition';
import { type TimeoutOutcome } from '../../src/timeouts';
import { type World } from './world';

/** As in LockedContext. */
type Asked = Pick<LockedContext, 'verified' | 'isAsking'>;

/** src/orders/unmatched/handle-unmatched.ts and late-watch.ts: what decideUnmatched says, done in the given transaction. */
export class LatePath {
  readonly claims: Claims;

  constructor(private readonly world: World) {
    this.claims = new Claims(world);
  }

  settle(orderId: string, by: ActionContext, asked: Asked = {}): void {
    const { verified = false } = asked;
    const { store, policy, wiring, trace } = this.world;
    const order = store.lock(orderId);
    this.claims.outrank(order);
    this.noteExcess(order);
    this.tellOfShortage(order);
    const decision = wiring.decideUnmatched(order, policy, { verified });
    if (decision.type === 'nothing') return;
    trace.note(() => `late path: ${order.id} is ${order.status} -> ${decision.type}`);
    switch (decision.type) {
      case 'refund':
        return this.handle(order, decision, by, asked);
      case 'revive':
        if (!this.reviveWith(orderId, decision.attempts, by, asked)) this.giveUp(order, by, asked);
    }
  }

  /** False: the goods are gone. */
  reviveWith(orderId: string, attempts: readonly PaymentAttempt[], by: ActionContext, asked: Asked = {}): boolean {
    const { store } = this.world;
    if (!store.stock.reserveAgain(orderId)) return false;
    this.move(store.lock(orderId), 'PAID', by);
    this.report(attempts, 'late', 'revived');
    this.settle(orderId, by, asked);
    return true;
  }

  /** Puts the money of these attempts on its way back. */
  beginRefunds(attempts: readonly PaymentAttempt[], reason: RefundReason): void {
    const { store, engine, agenda } = this.world;
    for (const attempt of attempts) {
      const refund = refundOf(attempt, reason);
      if (store.refunds.has(refund.number)) throw new Error(`a second refund of ${attempt.reference}`);
      store.refunds.set(refund.number, { ...refund, status: 'PENDING', createdMs: agenda.nowMs });
      store.setAttemptStatus(attempt.orderId, [attempt], 'REFUNDING');
      store.unmatched.handle((row) => isOpen(row) && isDecided(row) && isSameRow(row, attempt), 'refunding');
      engine.schedule({ kind: PAYMENT_REFUND, key: refund.number }, agenda.now);
    }
  }

  enterRefunding(orderId: string, by: ActionContext): void {
    const order = this.world.store.lock(orderId);
    if (REFUNDABLE.includes(order.status)) this.move(order, 'REFUNDING', by);
  }

  /**
   * An order that has ended is looked at again, while there is an attempt that was taken for closed.
   *
   * @param planned of the last round of a watch, which begins anew
   */
  watch(orderId: string, planned?: TimeoutOutcome): void {
    const { store, engine, agenda, policy, wiring } = this.world;
    const order = store.lock(orderId);
    if (!wiring.watches || isUndecided(order.status) || !order.attempts.some(isWatched)) return;
    const first = firstRoundAt(agenda.now, policy.lateWatchOffsetsMs, planned);
    if (first) engine.schedule({ kind: ORDER_LATE_WATCH, key: orderId }, first.dueAt, first.payload);
  }

  private handle(
    order: LockedOrder,
    { refunds, kept, unverified, reason }: RefundDecision,
    by: ActionContext,
    { isAsking = false }: Asked,
  ): void {
    const disputed = this.claims.disputed(refunds);
    const others = refunds.filter((attempt) => !disputed.includes(attempt));
    this.beginRefunds(others, reason);
    if (others.length > 0) this.enterRefunding(order.id, by);
    this.report(others, reason, 'refunding');
    this.report([...kept, ...disputed], reason, 'kept');
    const outdated = HELD_MONEY_REASONS.filter((one) => !stillTold(reason).includes(one));
    const isOutdated = (row: UnmatchedRow): boolean =>
      outdated.some((one) => one === row.reason) &&
      isOpen(row) &&
      [...kept, ...disputed].some((one) => isSameRow(one, row));
    this.world.store.unmatched.handle(isOutdated, 'adopted');
    const { engine, agenda } = this.world;
    if (unverified.length > 0 && !isAsking) engine.schedule(reconcileTimeout(order.id), agenda.now);
  }

  /** The excess is part of a payment that the order needs, and is kept. */
  noteExcess(order: LockedOrder): void {
    const money = moneyReceived(order, order.attempts);
    if (order.status !== 'PAID' || money.type !== 'sufficient' || !money.overpaid) return;
    if (!this.world.wiring.showsExcess) return;
    const { attempt, excess } = money.overpaid;
    const why = { reason: 'overpaid', handling: 'kept', now: this.world.agenda.now, traceparent: undefined } as const;
    this.world.store.keepUnmatched([{ ...unmatchedFromAttempt(attempt, why), amount: excess }]);
  }

  private tellOfShortage(order: LockedOrder): void {
    const money = moneyReceived(order, order.attempts);
    if (order.status !== 'PAID') return;
    if (money.type !== 'nothing') this.claims.closeOutdated(order.id);
    if (money.type === 'sufficient') return;
    const parts = insufficientParts(order, { handling: 'kept', now: this.world.agenda.now });
    this.world.store.keepUnmatched(parts);
  }

  private giveUp(order: LockedOrder, by: ActionContext, asked: Asked): void {
    const decision = decideLate(order, this.world.policy, { verified: asked.verified ?? false });
    if (decision.type === 'refund') this.handle(order, decision, by, asked);
  }

  private move(order: LockedOrder, to: 'PAID' | 'REFUNDING', by: ActionContext): void {
    const { store, agenda, trace } = this.world;
    const isWritten = store.apply(transition(order, to, { by, now: agenda.now }));
    if (!isWritten) throw new Error(`${order.id} changed under its lock`);
    trace.note(() => `order ${order.id}: ${order.status} -> ${to}`);
  }

  private report(attempts: readonly PaymentAttempt[], reason: LateOrSurplus, handling: UnmatchedHandling): void {
    const { store, agenda } = this.world;
    const why = { reason, handling, now: agenda.now, traceparent: undefined };
    store.keepUnmatched(attempts.map((attempt) => unmatchedFromAttempt(attempt, why)));
  }
}

/** A refund decides about these; the others ask whose money it is. */
function isDecided({ reason }: UnmatchedRow): boolean {
  return !['attempt-mismatch', 'unknown-order', 'chargeback', 'invalid-amount'].includes(reason);
}

const REFUNDABLE: readonly OrderStatus[] = ['CLOSED', 'CANCELLED', 'CLOSED_REFUNDED'];

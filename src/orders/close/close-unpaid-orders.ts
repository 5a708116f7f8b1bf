import { type EntityManager } from 'typeorm';
import {
  DONE,
  type DueTimeout,
  type SettlementRun,
  TimeoutScheduler,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
} from '../../timeouts';
import { PaymentLookups } from '../lookup/payment-lookups';
import { type AttemptFinding, isIncomplete } from '../model/findings';
import { busyOutcome, allTimeouts, OWN_LIMITS, ORDER_REMINDER, ORDER_PAYMENT } from '../model/order-timeouts';
import { HandleUnmatched } from '../unmatched/handle-unmatched';
import { PaymentWatch, isWatched } from '../unmatched/payment-watch';
import { isElsewhere, NoteUnmatchedMoney } from '../unmatched/note-unmatched-money';
import { refundOf } from '../model/unmatched-money';
import { OrderPolicies } from '../model/order-policies';
import { adoptUnmatched } from '../sql/order-transaction';
import { OrderStore } from '../sql/order-store';
import { type LockedBatch } from '../sql/lock-orders';
import { canTakeMoney, isUnconfirmed, type LockedOrder, type PaymentAttempt } from '../model/order';
import { type ClosingPlan, planClosing } from '../model/plan-closing';
import { type Transition, causeOf } from '../model/transition';

/** The order changed between the decision and the write. Decide again for its new state. */
const CHANGED: TimeoutOutcome = { type: 'retry', counted: false, afterMs: 50, reason: 'the order changed meanwhile' };

type Due = DueTimeout<AttemptFinding[]>;

/** One due timeout and its plan. There is no plan if the order cannot be processed. */
interface Step {
  readonly due: Due;
  readonly outcome: TimeoutOutcome;
  readonly plan?: ClosingPlan;
}

/**
 * Closes orders at their deadline. Orders without an attempt that could take money are closed immediately, a whole
 * batch in one transaction. For the others, CLOSING is committed first, then their attempts are looked up outside any
 * transaction, and then the proven results are written.
 */
@TimeoutHandler(ORDER_PAYMENT, OWN_LIMITS)
export class CloseUnpaidOrders implements TimeoutHandlerBatch<AttemptFinding[]> {
  constructor(
    private readonly store: OrderStore,
    private readonly lookups: PaymentLookups,
    private readonly policies: OrderPolicies,
    private readonly unmatched: HandleUnmatched,
    private readonly found: NoteUnmatchedMoney,
    private readonly watch: PaymentWatch,
    private readonly scheduler: TimeoutScheduler,
  ) {}

  async handleBatch(timeouts: readonly Due[], tx: EntityManager, run?: SettlementRun): Promise<TimeoutOutcome[]> {
    const { store, unmatched } = this;
    const ids = timeouts.map((timeout) => timeout.key);
    const locked = await store.lock(tx, ids, 'skip-locked');
    const batch = locked.adoptable.length > 0 ? await adoptUnmatched(tx, store, locked) : locked;
    const due = await this.withoutTaken(timeouts, batch, tx);
    const first = due.map((timeout) => this.stepFor(timeout, batch));
    const named = new Set(locked.adoptable.map(({ orderId }) => orderId));
    const planned = await this.parkDisputed(first, batch, named, tx);
    const steps = run?.isContended ? await this.withoutHeld(planned, batch, tx) : planned;
    const plans = steps.flatMap(({ plan }) => plan ?? []);
    const writes = plans.flatMap((plan) => plan.writes);
    await store.writeAttempts(tx, writes);
    await this.noteFound(steps, batch, tx);
    for (const { due, plan } of steps) {
      if (!plan || plan.returns.length === 0) continue;
      await unmatched.beginRefunds(plan.returns, 'partial', { tx, by: causeOf(due), now: batch.now });
    }
    const transitions = plans.flatMap((plan) => plan.transition ?? []);
    await this.cancelReminders(transitions, batch.now, tx);
    const paying = plans.filter(hasAttempts).map((plan) => plan.after);
    const ended = transitions.map(({ order }) => order.id);
    if (paying.length > 0) await unmatched.lockStock(tx, paying, ended);
    const moved = await store.apply(tx, transitions);
    await this.settleMoney(steps, moved, batch.now, tx);
    return steps.map(({ plan, outcome }) => (plan && !hasHappened(plan, moved) ? CHANGED : withJitter(outcome)));
  }

  async lookUp(due: DueTimeout, signal: AbortSignal): Promise<AttemptFinding[]> {
    // Includes closed attempts: while the others are unclear for days, money may arrive through an attempt that did not
    // stay closed.
    const { now, attempts } = await this.store.attemptsOf(due.key, isAskedAtDeadline);
    return this.lookups.close(attempts, now, signal);
  }

  /** Without what other orders have of the payments that the look-ups have found. */
  private async withoutTaken(timeouts: readonly Due[], batch: LockedBatch, tx: EntityManager): Promise<readonly Due[]> {
    if (timeouts.every(({ answer }) => answer === undefined)) return timeouts;
    const left = await this.found.withoutTaken(timeouts, batch, tx);
    return timeouts.map((one) => withAnswer(one, left.get(one.key)));
  }

  private stepFor(due: Due, batch: LockedBatch, isDisputed = false, waiting?: LockedOrder['waiting']): Step {
    const found = batch.orders.get(due.key);
    const order = found && waiting ? { ...found, waiting } : found;
    // An order that no longer exists needs no closing.
    if (!order) return { due, outcome: batch.busy.has(due.key) ? busyOutcome(due, batch.now) : DONE };
    const mayHaveMoney = order.attempts.length > 0;
    const partial = isDisputed || !mayHaveMoney ? 'keep' : this.policies.of(order.merchantId).partialPayment;
    const plan = planClosing(order, due, batch.now, partial);
    return { due, plan, outcome: plan.outcome };
  }

  /**
   * An order does not end while confirmed money waits for a person, who may assign it. A partial payment is not refunded
   * automatically if another order also counts on it.
   *
   * @param named orders that early money names. The many others without an attempt are not asked about.
   */
  private async parkDisputed(
    steps: readonly Step[],
    batch: LockedBatch,
    named: ReadonlySet<string>,
    tx: EntityManager,
  ): Promise<readonly Step[]> {
    const { found, store } = this;
    const isAsked = (plan: ClosingPlan): boolean => ends(plan) && (hasAttempts(plan) || named.has(plan.after.id));
    const ending = steps.flatMap(({ plan }) => (plan && isAsked(plan) ? [plan] : []));
    if (ending.length === 0) return steps;
    const orders = ending.map(({ after }) => after);
    const confirmed = await store.waitingFor(tx, orders);
    const returns = ending.flatMap((plan) => plan.returns);
    const disputed = [...(await found.unrefundable(tx, returns)), ...disputedInBatch(steps)];
    return steps.map((step) => {
      const isDisputed = disputed.some(({ orderId }) => orderId === step.due.key);
      const waiting = confirmed.filter(({ orderId }) => orderId === step.due.key);
      return isDisputed || waiting.length > 0 ? this.stepFor(step.due, batch, isDisputed, waiting) : step;
    });
  }

  /** Orders whose stock another session has locked are retried later, so that the others do not wait. */
  private async withoutHeld(steps: readonly Step[], batch: LockedBatch, tx: EntityManager): Promise<readonly Step[]> {
    const { store, unmatched } = this;
    const ids = steps.flatMap(({ plan }) =>
      plan && (movesStock(plan) || unmatched.revives(plan.after)) ? plan.after.id : [],
    );
    const held = await store.inventory.lockFree(tx, ids);
    return steps.map((step) => {
      const { due } = step;
      return held.has(due.key) ? { due, outcome: busyOutcome(due, batch.now, 'stock of the order') } : step;
    });
  }

  /** An order that is paid before its deadline needs no reminder. Lock timeout rows before stock. */
  private async cancelReminders(transitions: readonly Transition[], now: Date, tx: EntityManager): Promise<void> {
    const early = transitions.filter(({ to, order }) => to === 'PAID' && now < order.expiresAt);
    const reminders = early.flatMap(({ order }) => allTimeouts(order).filter(({ kind }) => kind === ORDER_REMINDER));
    if (reminders.length > 0) await this.scheduler.cancel(reminders, { tx });
  }

  private async noteFound(steps: readonly Step[], { orders, now }: LockedBatch, tx: EntityManager): Promise<void> {
    const [first] = steps;
    const plans = steps.flatMap(({ plan }) => plan ?? []);
    if (!first || plans.every(({ findings }) => findings.length === 0)) return;
    await this.found.execute(plans, orders, { tx, by: causeOf(first.due), now });
  }

  /** Handles the money of orders that have ended. Nearly all orders have none. */
  private async settleMoney(
    steps: readonly Step[],
    moved: ReadonlySet<string>,
    now: Date,
    tx: EntityManager,
  ): Promise<void> {
    const { store, unmatched, watch } = this;
    for (const { due, plan } of steps) {
      if (!plan) continue;
      if (!hasHappened(plan, moved)) {
        // Its refunds have begun in this transaction and must not be committed without the closing.
        if (plan.returns.length > 0) throw new Error(`order ${plan.after.id} changed under its lock`);
        continue;
      }
      if (!hasAttempts(plan) && plan.unmatched.length === 0) continue;
      const context = { tx, by: causeOf(due), now };
      await store.keepUnmatched(tx, plan.unmatched);
      if (plan.returns.length > 0) {
        const refunds = plan.returns.map((attempt) => refundOf(attempt, 'partial'));
        await unmatched.enterRefunding(plan.after, refunds, context);
      } else await unmatched.execute(plan.after, { ...context, isAsking: plan.outcome !== DONE }, true);
    }
    const ended = steps.flatMap(({ plan }) => (plan?.outcome === DONE && hasHappened(plan, moved) ? [plan] : []));
    const watched = ended.filter(hasAttempts).map(({ after }) => after);
    if (watched.length > 0) await watch.begin(tx, watched, now);
  }
}

/** Pure: the payments to return that an order before in the batch has, too. Its attempts are not written yet. */
function disputedInBatch(steps: readonly Step[]): readonly PaymentAttempt[] {
  let before: readonly PaymentAttempt[] = [];
  return steps.flatMap(({ plan }) => {
    const disputed = plan?.returns.filter((payment) => isElsewhere(payment, before)) ?? [];
    before = before.concat(plan?.after.attempts ?? []);
    return disputed;
  });
}

function withAnswer(due: Due, answer: readonly AttemptFinding[] | undefined): Due {
  return answer ? { ...due, answer: [...answer] } : due;
}

/** Most orders that nobody has paid never had an attempt, so there is no money to look after. */
function hasAttempts({ after }: ClosingPlan): boolean {
  return after.attempts.length > 0;
}

/** A plan with a transition is void if the compare-and-set did not find the order in the planned state. */
function hasHappened(plan: ClosingPlan, moved: ReadonlySet<string>): boolean {
  return plan.transition === undefined || moved.has(plan.transition.order.id);
}

function ends({ transition }: ClosingPlan): boolean {
  return transition?.to === 'CLOSED' || transition?.to === 'CANCELLED';
}

/** All steps of the closing except the first, which only stops new attempts. */
function movesStock({ transition }: ClosingPlan): boolean {
  return transition !== undefined && transition.to !== 'CLOSING';
}

/** Attempts that may take money, or more of it, including closed ones, and those whose payment was only reported. */
export function isAskedAtDeadline(attempt: PaymentAttempt): boolean {
  return canTakeMoney(attempt) || isWatched(attempt) || isUnconfirmed(attempt) || isIncomplete(attempt);
}

/** Adds 0 to 20 %, so that orders that wait together are not looked up together. */
function withJitter(outcome: TimeoutOutcome): TimeoutOutcome {
  if (outcome.type !== 'retry' || outcome.afterMs === undefined) return outcome;
  return { ...outcome, afterMs: Math.round(outcome.afterMs * (1 + 0.2 * Math.random())) };
}

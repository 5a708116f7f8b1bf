import { type LedgerEntry } from 'nestjs-order-timeout-payment-simulator';
import { EVENT_OF_STATUS } from '../../../../src/orders/model/transition';
import { type OrderRecord } from '../../../support/checks/facts';
import { historyProblems, reservationProblems } from '../../../support/checks/order-checks';
import { type EventRecord } from '../stream/event-record';
import { hasAttempt, type PlannedOrder } from '../stream/plan-order';
import { type Circumstances, eventAllowedMs } from './lateness';
import { type Verdict } from './verdict';

const TERMINAL: readonly string[] = ['PAID', 'CLOSED', 'CANCELLED', 'CLOSED_REFUNDED'];

interface Sources {
  readonly plan: PlannedOrder;
  readonly entry: LedgerEntry | undefined;
  readonly events: EventRecord;
  /** Undefined while no event can be seen at all: then none is late. */
  readonly circumstances: Circumstances | undefined;
}

/** What must be true of every order, whatever happened. Times are checked elsewhere. */
export function checkOrder(
  order: OrderRecord,
  { plan, entry, events, circumstances }: Sources,
  verdict: Verdict,
): void {
  if (!TERMINAL.includes(order.status)) verdict.add('unclosed', `${order.id} is ${order.status}`);
  checkMoney(order, plan, entry, verdict);
  checkHistory(order, verdict);
  checkReservations(order, plan, verdict);
  checkEvents(order, events, verdict);
  if (circumstances) checkPunctuality(order, events, circumstances, verdict);
}

function checkMoney(order: OrderRecord, plan: PlannedOrder, entry: LedgerEntry | undefined, verdict: Verdict): void {
  const held = entry ? Number(entry.paidAmount ?? 0) - Number(entry.refundedAmount) : 0;
  const says = `${order.id} is ${order.status}, the provider holds ${held} of ${plan.amount}`;
  if (hasAttempt(plan) !== (entry !== undefined)) verdict.add('paid-unpaid', `${order.id}: the books do not know it`);
  if (order.status !== 'PAID' && held !== 0) verdict.add('closed-though-paid', says);
  const wasClosed = order.history.some(({ from, to }) => from === 'CLOSED' && to === 'PAID');
  // The watch mends it, but only a provider that lied about its close may have led to it.
  if (wasClosed && plan.deed.type !== 'pays-after-close')
    verdict.add('closed-though-paid', `${says}, after it was closed`);
  if (order.status === 'PAID' && held !== plan.amount) verdict.add('paid-unpaid', says);
}

function checkHistory({ id, status, version, history }: OrderRecord, verdict: Verdict): void {
  for (const says of historyProblems(id, version, history)) verdict.add('double-effects', says);
  const last = history.at(-1)?.to;
  if (last !== status) verdict.add('double-effects', `${id}: history ends with ${last ?? 'nothing'}, it is ${status}`);
  for (const to of ['CLOSED', 'PAID', 'CANCELLED', 'CLOSING']) {
    const times = history.filter((step) => step.to === to && step.from !== to).length;
    if (times > 1) verdict.add('double-effects', `${id}: ${times} times ${to}`);
  }
}

function checkReservations({ id, status, reservations }: OrderRecord, { lines }: PlannedOrder, verdict: Verdict): void {
  if (!TERMINAL.includes(status)) return;
  for (const says of reservationProblems(id, { status, lines }, reservations)) verdict.add('stock-drift', says);
}

function checkEvents({ id, history }: OrderRecord, events: EventRecord, verdict: Verdict): void {
  for (const { from, to, version } of history) {
    if (from === to) continue;
    const type = EVENT_OF_STATUS[to as keyof typeof EVENT_OF_STATUS];
    if (!type || type === 'order.refunded') continue;
    if (!events.has(id, version, type)) verdict.add('lost-events', `${id}: ${type} of version ${version}`);
    if (events.isTwice(id, version, type)) {
      verdict.add('double-effects', `${id}: ${type} of version ${version} came under two ids`);
    }
  }
}

function checkPunctuality({ id, history }: OrderRecord, events: EventRecord, around: Circumstances, to: Verdict): void {
  for (const step of history) {
    const type = EVENT_OF_STATUS[step.to as keyof typeof EVENT_OF_STATUS];
    const seenAt = type && step.from !== step.to ? events.firstSeen(id, step.version, type) : undefined;
    if (seenAt === undefined) continue;
    const allowedMs = eventAllowedMs(step.occurredAt, seenAt, around);
    const lateMs = seenAt - step.occurredAt;
    if (lateMs > allowedMs)
      to.add('late-events', `${id}: ${type} after ${Math.round(lateMs)} ms, ${allowedMs} are allowed`);
  }
}

import { type HistoryFact } from '../../../test/support/checks/facts';
import { type OrderFact } from './facts';

/** How late something was, milliseconds. */
export interface Lateness {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** From the deadline to the first step that it led to, for orders that were due. */
export function reactionTimes(orders: readonly OrderFact[]): number[] {
  return orders.flatMap((order) => {
    const first = order.history.find((entry) => isDueStep(entry));
    return first ? lateBy(order, first) : [];
  });
}

/** From the deadline to CLOSED or to the payment that was found out, for orders that were due. */
export function settlingTimes(orders: readonly OrderFact[]): number[] {
  return orders.flatMap((order) => {
    const last = order.history.filter((entry) => isDueStep(entry)).at(-1);
    return last && last.to !== 'CLOSING' ? lateBy(order, last) : [];
  });
}

export function summarize(times: readonly number[]): Lateness {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? 0;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Only the clocks act at a deadline: a message, the sweep, or somebody who looked. */
function isDueStep({ cause, to, from }: HistoryFact): boolean {
  return from !== null && to !== from && to !== 'CANCELLED' && ['message', 'sweep', 'passive'].includes(cause);
}

function lateBy({ stored }: OrderFact, { occurredAt }: HistoryFact): number[] {
  return stored ? [occurredAt - stored.expiresAt - stored.graceMs] : [];
}

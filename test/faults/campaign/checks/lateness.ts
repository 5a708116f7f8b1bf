import { type OrderRecord } from '../../../support/checks/facts';
import { type InjectedFault } from '../faults/fault-log';
import { EVENT_EXCUSES, EXCUSES } from './excuses';
import { type MachineLoad } from '../../../support/machine-load';

/** How late an order ended, and how late the faults of its time let it be; milliseconds. */
export interface Lateness {
  readonly lateMs: number;
  readonly allowedMs: number;
  /** Epoch milliseconds. */
  readonly dueAt: number;
  readonly endedAt: number;
  /** Those that fell into the order's life. */
  readonly faults: readonly InjectedFault[];
}

/** What went on meanwhile. */
export interface Circumstances {
  readonly faults: readonly InjectedFault[];
  readonly load: Pick<MachineLoad, 'factorAt'>;
}

/** What an order needs besides the engine. */
export interface OrderNeeds {
  /** The payment provider decides with. */
  readonly asks: boolean;
  readonly skus: readonly string[];
}

/** Without any fault: a second for a busy machine, and a round of questions. */
export const BASE_MS = 5_000;
const TERMINAL: readonly string[] = ['CLOSED', 'CANCELLED', 'PAID'];
const BY_SHOP: readonly string[] = ['api', 'command', 'notify'];

/**
 * Pure: undefined when the order ended before its deadline, or did not end. The bound is 5 s (more on an overloaded machine), plus the time in which a
 * fault had stopped what the order waits for, plus the longest after-effect among the faults of its life, and the longest
 * among those that came after the deadline: the next owner of a lost lease may lose it as well.
 */
export function latenessOf(
  order: OrderRecord,
  { faults, load }: Circumstances,
  needs: OrderNeeds,
): Lateness | undefined {
  const end = order.history.find(({ to }) => TERMINAL.includes(to));
  const dueAt = dueOf(order);
  if (!end || end.occurredAt <= dueAt) return undefined;
  const endedAt = end.occurredAt;
  const mine = faults.filter((fault) => {
    const { withinMs = Infinity } = EXCUSES[fault.kind];
    const isThen = fault.beganAt <= endedAt && fault.endedAt >= order.createdAt && dueAt <= fault.endedAt + withinMs;
    return isThen && (fault.sku === undefined || needs.skus.includes(fault.sku));
  });
  const afterMs = afterEffectsMs(mine, dueAt, ({ kind }) => EXCUSES[kind].afterMs);
  const stopped = mine.filter(({ kind }) => {
    const { stops } = EXCUSES[kind];
    return stops === 'everything' || (stops === 'questions' && needs.asks);
  });
  const allowedMs = BASE_MS * load.factorAt(endedAt) + afterMs + coveredMs(stopped, dueAt, endedAt);
  return { lateMs: endedAt - dueAt, allowedMs, dueAt, endedAt, faults: mine };
}

/** The shop may have moved the deadline to a moment that had passed when it was heard: then it counts from there. */
function dueOf({ expiresAt, history }: OrderRecord): number {
  const moved = history.filter(({ to }) => to === 'PENDING').map(({ occurredAt }) => occurredAt);
  return Math.max(expiresAt, ...moved);
}

/** Closed by the engine before the time it had promised. */
export function earlyMs({ history, expiresAt }: OrderRecord): number {
  const begin = history.find(({ to, cause }) => (to === 'CLOSING' || to === 'CLOSED') && !BY_SHOP.includes(cause));
  return begin ? expiresAt - begin.occurredAt : 0;
}

/** How late an event may come that tells of something at `from` and was seen at `to`. */
export function eventAllowedMs(from: number, to: number, { faults, load }: Circumstances): number {
  const mine = faults.filter(({ kind, beganAt, endedAt }) => {
    const excuse = EVENT_EXCUSES[kind];
    return excuse && beganAt <= to && endedAt + excuse.afterMs >= from;
  });
  const afterMs = afterEffectsMs(mine, from, ({ kind }) => EVENT_EXCUSES[kind]?.afterMs ?? 0);
  const stopped = mine.filter(({ kind }) => EVENT_EXCUSES[kind]?.stops);
  return BASE_MS * load.factorAt(to) + afterMs + coveredMs(stopped, from, to);
}

/** The longest after-effect of a fault, and that of another one that came later than `from`. */
function afterEffectsMs(
  faults: readonly InjectedFault[],
  from: number,
  afterMsOf: (fault: InjectedFault) => number,
): number {
  const [first, ...others] = [...faults].sort((a, b) => afterMsOf(b) - afterMsOf(a));
  const second = others.find(({ beganAt }) => beganAt >= from);
  return (first ? afterMsOf(first) : 0) + (second ? afterMsOf(second) : 0);
}

/** How much of the time from `from` to `to` the faults cover together. */
function coveredMs(faults: readonly InjectedFault[], from: number, to: number): number {
  let covered = 0;
  let until = from;
  for (const { beganAt, endedAt } of [...faults].sort((a, b) => a.beganAt - b.beganAt)) {
    const begin = Math.max(beganAt, until);
    const end = Math.min(endedAt, to);
    if (end > begin) covered += end - begin;
    until = Math.max(until, end);
  }
  return covered;
}

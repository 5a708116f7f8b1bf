import { type BuyerGroup, BUYER_GROUPS, GROUP_NAMES } from '../buyers/buyer-group';
import { type Facts, type OrderFact, type StockFact, TERMINAL } from '../checking/facts';
import { check, type CheckResult } from '../checking/invariant';
import { INVARIANTS } from '../checking/invariants';
import { type Lateness, reactionTimes, settlingTimes, summarize } from '../checking/lateness';

/** What became of one kind of buyers. */
export interface GroupOutcome {
  readonly group: BuyerGroup;
  readonly says: string;
  readonly orders: number;
  readonly byStatus: Readonly<Record<string, number>>;
  /** Who ended the order: message, sweep, passive, api, command. */
  readonly byCause: Readonly<Record<string, number>>;
}

/** How a run was made. */
export interface RunDetails {
  readonly seed: number;
  readonly transport: string;
  readonly transportInUse: string;
  readonly orders: number;
  readonly faults: boolean;
  readonly seconds: number;
  /** Processes that wanted to run, for each core, at the busiest moment. */
  readonly loadPerCore: number;
}

/** The result of a run, ready to be shown. */
export interface DemoReport extends RunDetails {
  readonly passed: boolean;
  readonly groups: readonly GroupOutcome[];
  /**
   * Milliseconds by the database's clock. `reaction`: the first step after the deadline; `settling`: the last;
   * `settlingInTrouble`: the same for orders whose provider was slow or failed.
   */
  readonly lateness: { readonly reaction: Lateness; readonly settling: Lateness; readonly settlingInTrouble: Lateness };
  readonly stock: readonly StockFact[];
  /** Undefined: there was no broker. */
  readonly events: { readonly ids: number; readonly deliveries: number } | undefined;
  readonly checks: readonly CheckResult[];
}

/** Pure: judges the facts and sums them up. */
export function reportOn(details: RunDetails, facts: Facts): DemoReport {
  const checks = check(INVARIANTS, facts);
  const isTroubled = ({ plan }: OrderFact): boolean => (plan.payment?.faults.length ?? 0) > 0;
  return {
    ...details,
    passed: checks.every(({ holds }) => holds),
    groups: GROUP_NAMES.flatMap((group) => outcomeOf(group, facts.orders)),
    lateness: {
      reaction: summarize(reactionTimes(facts.orders)),
      settling: summarize(settlingTimes(facts.orders.filter((order) => !isTroubled(order)))),
      settlingInTrouble: summarize(settlingTimes(facts.orders.filter(isTroubled))),
    },
    stock: facts.stock,
    events: facts.hasBroker
      ? { ids: facts.events.length, deliveries: facts.events.reduce((sum, { deliveries }) => sum + deliveries, 0) }
      : undefined,
    checks,
  };
}

function outcomeOf(group: BuyerGroup, all: readonly OrderFact[]): GroupOutcome[] {
  const orders = all.filter(({ plan }) => plan.group === group);
  if (orders.length === 0) return [];
  const { says } = BUYER_GROUPS[group];
  const byStatus = countBy(orders.map(({ stored }) => stored?.status ?? 'missing'));
  return [{ group, says, orders: orders.length, byStatus, byCause: countBy(orders.flatMap(causeOf)) }];
}

function causeOf({ history }: OrderFact): string[] {
  return history.filter(({ to }) => TERMINAL.includes(to)).map(({ cause }) => cause);
}

function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

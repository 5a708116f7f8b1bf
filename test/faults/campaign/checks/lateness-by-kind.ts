import { type InjectedFault } from '../faults/fault-log';
import { type FaultKind } from '../faults/fault-kind';

/** An order that was noticeably late, and what went wrong while it lived; epoch milliseconds. */
export interface LateOrder {
  readonly lateMs: number;
  readonly dueAt: number;
  readonly endedAt: number;
  /** Its decision needs the payment provider. */
  readonly asks: boolean;
  readonly faults: readonly InjectedFault[];
}

/** The late orders in whose life faults of one kind fell. All times in milliseconds, in ascending order. */
export interface KindLateness {
  readonly kind: FaultKind | 'no fault';
  readonly asks: boolean;
  /** Of these orders, how many saw no fault of another kind. */
  readonly alone: number;
  readonly lateMs: Float64Array;
  /** From the end of the fault, or the deadline if that came later, to the decision. */
  readonly afterEndMs: Float64Array;
}

/** From here on an order is looked at: a busy machine alone is not as late. */
export const NOTICEABLE_MS = 1_000;

/** Pure: what lateness is made of. An order with faults of several kinds counts for each of them. */
export function latenessByKind(orders: readonly LateOrder[]): KindLateness[] {
  const groups = new Map<string, LateOrder[]>();
  for (const order of orders) {
    const kinds = new Set<KindLateness['kind']>(order.faults.map(({ kind }) => kind));
    if (kinds.size === 0) kinds.add('no fault');
    for (const kind of kinds) {
      const name = `${kind} ${order.asks}`;
      groups.set(name, [...(groups.get(name) ?? []), order]);
    }
  }
  return [...groups].sort(([a], [b]) => a.localeCompare(b)).map(([name, members]) => groupOf(name, members));
}

function groupOf(name: string, members: readonly LateOrder[]): KindLateness {
  const asks = name.endsWith('true');
  const kind = name.slice(0, name.lastIndexOf(' ')) as KindLateness['kind'];
  const alone = members.filter(({ faults }) => faults.every((fault) => fault.kind === kind)).length;
  return {
    ...{ kind, asks, alone },
    lateMs: Float64Array.from(members, ({ lateMs }) => lateMs).sort(),
    afterEndMs: Float64Array.from(members, (order) => afterEndMs(order, kind)).sort(),
  };
}

function afterEndMs({ dueAt, endedAt, faults }: LateOrder, kind: KindLateness['kind']): number {
  const ends = faults.filter((fault) => fault.kind === kind).map((fault) => Math.min(fault.endedAt, endedAt));
  return endedAt - Math.max(dueAt, ...ends);
}

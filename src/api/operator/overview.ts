import { type OrderSummary, PAYMENT_REFUND } from '../../orders';
import { type OutboxBacklog } from '../../outbox';
import { type BreakerState } from '../../payments';
import { type Control, type ControlReason, type DueCounts, type TransportChoice } from '../../timeouts';
import { type ClockLateness } from './lateness';

/** What the database says. Each number stops at its limit; see `limits`. */
export interface StoredFacts {
  readonly now: Date;
  readonly summary: OrderSummary;
  /** Null: the operator is limited to merchants, and the summary has the numbers. */
  readonly due: DueCounts | null;
  /** Null: counting takes too long. */
  readonly backlog: OutboxBacklog | null;
  readonly parked: ReadonlyMap<string, number>;
  readonly overdue: ReadonlyMap<string, number>;
  readonly unmatched: number;
}

/** What the process knows without asking. */
export interface KnownFacts {
  readonly kinds: readonly string[];
  readonly controlOf: (kind: string) => Control;
  readonly transport: TransportChoice | undefined;
  readonly broker: 'up' | 'down' | 'not configured';
  readonly messagePath: 'up' | 'down' | 'suspect' | 'off';
  readonly doubt: string | undefined;
  readonly lateness: readonly ClockLateness[];
  readonly providers: readonly ProviderState[];
  readonly parkedMessages: number | null;
}

/** A payment provider, as this process sees it. */
export interface ProviderState {
  readonly name: string;
  readonly breaker: BreakerState;
  readonly paused: boolean;
  readonly pause: ControlReason | null;
  /** Calls per second for each merchant account, as an operator has set them. Null: as configured. */
  readonly limitPerSecond: number | null;
  readonly configuredPerSecond: number;
}

/** The state of everything, for `GET overview`. What the database does not answer is null. */
export interface Overview {
  readonly now: Date;
  readonly orders: (Pick<OrderSummary, 'pending' | 'closing' | 'paid24h' | 'closed24h'> & { partial: boolean }) | null;
  readonly due: { readonly nextMinute: number; readonly nextHour: readonly number[]; readonly overdue: number } | null;
  readonly lateness: readonly ClockLateness[];
  readonly transport: TransportChoice | null;
  readonly broker: {
    readonly state: KnownFacts['broker'];
    readonly messagePath: string;
    readonly cause: string | null;
  };
  readonly database: { readonly state: 'up' | 'down' };
  readonly outbox: { readonly waiting: number; readonly oldestSeconds: number; readonly parked: number } | null;
  readonly providers: readonly ProviderState[];
  readonly kinds: readonly KindState[];
  readonly attention: {
    readonly parkedTimeouts: number | null;
    readonly unmatchedPayments: number | null;
    readonly refundsFailed: number | null;
    readonly parkedMessages: number | null;
  };
  readonly limits: { readonly count: number; readonly perMinute: number };
}

/** One kind of timeouts. Null: the database does not answer, or nothing is overdue. */
export interface KindState {
  readonly kind: string;
  readonly paused: boolean;
  readonly pause: ControlReason | null;
  readonly parked: number | null;
  readonly overdueOldestSeconds: number | null;
}

export const MINUTES = 60;

/** Pure: puts the overview together. @param stored undefined: the database does not answer. */
export function toOverview(
  known: KnownFacts,
  stored: StoredFacts | undefined,
  limits: Overview['limits'],
  now: Date,
): Overview {
  return {
    now: stored?.now ?? now,
    orders: stored ? ordersOf(stored.summary, limits.count) : null,
    due: stored ? dueOf(stored) : null,
    lateness: known.lateness,
    transport: known.transport ?? null,
    broker: { state: known.broker, messagePath: known.messagePath, cause: known.doubt ?? null },
    database: { state: stored ? 'up' : 'down' },
    outbox: stored?.backlog ? outboxOf(stored.backlog) : null,
    providers: known.providers,
    kinds: kindsOf(known, stored),
    attention: {
      parkedTimeouts: stored ? sum([...stored.parked.values()]) : null,
      unmatchedPayments: stored?.unmatched ?? null,
      refundsFailed: stored ? (stored.parked.get(PAYMENT_REFUND) ?? 0) : null,
      parkedMessages: known.parkedMessages,
    },
    limits,
  };
}

function ordersOf({ pending, closing, paid24h, closed24h, isPartial }: OrderSummary, most: number): Overview['orders'] {
  const upTo = (count: number): number => Math.min(count, most);
  return { pending: upTo(pending), closing: upTo(closing), paid24h, closed24h, partial: isPartial };
}

function dueOf({ due, summary }: StoredFacts): Overview['due'] {
  const nextHour = due?.byMinute ?? Array.from({ length: MINUTES }, (_, at) => summary.dueByMinute.get(at) ?? 0);
  return { nextMinute: nextHour[0] ?? 0, nextHour, overdue: due?.overdue ?? summary.overdue };
}

function outboxOf({ rows, oldestSeconds, parked }: OutboxBacklog): Overview['outbox'] {
  return { waiting: rows, oldestSeconds: Math.round(oldestSeconds), parked };
}

function kindsOf({ kinds, controlOf }: KnownFacts, stored: StoredFacts | undefined): KindState[] {
  const all = new Set([...kinds, ...(stored?.parked.keys() ?? []), ...(stored?.overdue.keys() ?? [])]);
  return [...all].sort().map((kind) => {
    const seconds = stored?.overdue.get(kind);
    const overdueOldestSeconds = seconds === undefined ? null : Math.round(seconds);
    const { pause } = controlOf(kind);
    const parked = stored ? (stored.parked.get(kind) ?? 0) : null;
    return { kind, paused: pause !== null, pause, parked, overdueOldestSeconds };
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

import { type AttemptView, type HistoryEntry, type OrderDossier, type OrderView } from '../../orders';
import { type Reservation } from '../../inventory';
import { type UnsentEvent } from '../../outbox';
import { type TimeoutRecord } from '../../timeouts';
import { type PlainOrder, withoutMetadata } from './without-metadata';

/** One thing that happened to an order. */
export interface TimelineEntry {
  readonly at: Date;
  readonly what: 'history' | 'attempt' | 'look-up' | 'refund' | 'event' | 'unmatched';
  readonly title: string;
  /** What brought it about. Null: not known. */
  readonly cause: string | null;
  /** Who did it. Null: the service. */
  readonly actor: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A timeout of an order. */
export type TimeoutView = Pick<
  TimeoutRecord,
  'kind' | 'key' | 'state' | 'dueAt' | 'nextAttemptAt' | 'attempts' | 'lastError'
>;

/** An attempt with the currency that was paid, which may differ from that of the attempt. */
type PaidAttemptView = AttemptView & { readonly paidCurrency?: string };

/** An order as operators see it. Personal data is left out. */
export interface OrderPageView extends PlainOrder {
  readonly attempts: readonly PaidAttemptView[];
  readonly timeline: readonly TimelineEntry[];
  readonly stock: readonly Reservation[];
  readonly timeouts: readonly TimeoutView[];
  readonly unmatched: OrderDossier['unmatched'];
  readonly refunds: OrderDossier['refunds'];
  /** `hidden`: there is some, for those who may see it. */
  readonly personal: 'hidden' | 'none';
}

/** What other tables say about an order. */
interface OrderSurroundings {
  readonly stock: readonly Reservation[];
  readonly timeouts: readonly TimeoutRecord[];
  readonly unsent: readonly UnsentEvent[];
}

/** Pure: puts the page of an order together, oldest entry first. */
export function toOrderPage(
  order: OrderView,
  history: readonly HistoryEntry[],
  dossier: OrderDossier,
  { stock, timeouts, unsent }: OrderSurroundings,
): OrderPageView {
  const ofMoney = [...ofAttempts(dossier), ...ofRefunds(dossier), ...ofUnmatched(dossier)];
  const timeline = [...history.map(ofHistory), ...ofMoney, ...unsent.map(ofEvent)];
  return {
    ...withoutMetadata(order),
    attempts: order.attempts.map((attempt) => withPaidCurrency(attempt, dossier)),
    timeline: timeline.sort((a, b) => a.at.getTime() - b.at.getTime()),
    stock,
    timeouts: timeouts.map(toTimeoutView),
    unmatched: dossier.unmatched,
    refunds: dossier.refunds,
    personal: order.metadata || dossier.hasEvidence ? 'hidden' : 'none',
  };
}

function withPaidCurrency(attempt: AttemptView, { attempts }: OrderDossier): PaidAttemptView {
  const { provider, reference, merchantAccount = null } = attempt;
  const stored = attempts.find(
    (one) => one.provider === provider && one.reference === reference && one.merchantAccount === merchantAccount,
  );
  return stored?.paidCurrency ? { ...attempt, paidCurrency: stored.paidCurrency } : attempt;
}

/** A timeout without its payload, which may hold personal data. */
export function toTimeoutView({
  kind,
  key,
  state,
  dueAt,
  nextAttemptAt,
  attempts,
  lastError,
}: TimeoutRecord): TimeoutView {
  return { kind, key, state, dueAt, nextAttemptAt, attempts, lastError };
}

function ofHistory(entry: HistoryEntry): TimelineEntry {
  const { from, to, cause, actor, reason, version, traceparent, occurredAt } = entry;
  const title = from === null ? `placed as ${to}` : from === to ? (reason ?? 'changed') : `${from} → ${to}`;
  const trace = traceparent?.split('-')[1] ?? null;
  return { at: occurredAt, what: 'history', title, cause, actor, details: { version, from, to, reason, trace } };
}

function ofAttempts({ attempts }: OrderDossier): TimelineEntry[] {
  return attempts.flatMap((attempt) => {
    const { provider, reference, merchantAccount, status, amount, currency, createdAt, updatedAt } = attempt;
    const { paidAmount, paidCurrency, transactionId } = attempt;
    const details = { provider, reference, merchantAccount, amount, currency, status };
    const began = { what: 'attempt', title: `payment attempt at ${provider}`, cause: null, actor: null } as const;
    const begun: TimelineEntry = { ...began, at: createdAt, details };
    if (updatedAt.getTime() === createdAt.getTime()) return [begun];
    const title = `${provider} says ${status}`;
    const money = { amount: paidAmount ?? amount, currency: paidCurrency ?? currency };
    const told = { ...details, ...money, transactionId };
    return [begun, { what: 'look-up', title, cause: attempt.paidSource, actor: null, at: updatedAt, details: told }];
  });
}

function ofRefunds({ refunds }: OrderDossier): TimelineEntry[] {
  return refunds.flatMap((refund) => {
    const { number, provider, reference, amount, currency, reason, requestedBy, createdAt, refundedAt } = refund;
    const details = { number, provider, reference, amount, currency };
    const common = { what: 'refund', cause: reason, actor: requestedBy, details } as const;
    const begun: TimelineEntry = { ...common, at: createdAt, title: `refund at ${provider} begun` };
    return refundedAt ? [begun, { ...common, at: refundedAt, title: `refunded at ${provider}` }] : [begun];
  });
}

function ofEvent({ type, createdAt, parkedReason }: UnsentEvent): TimelineEntry {
  const title = parkedReason === null ? `${type} waits in the outbox` : `${type} is parked in the outbox`;
  const details = { type, parked: parkedReason !== null, reason: parkedReason };
  return { at: createdAt, what: 'event', title, cause: null, actor: null, details };
}

function ofUnmatched({ unmatched }: OrderDossier): TimelineEntry[] {
  return unmatched.flatMap((payment) => {
    const { id, provider, reference, amount, currency, reason, handling, createdAt } = payment;
    const { resolvedAt, resolvedBy, resolution } = payment;
    const details = { id, provider, reference, amount, currency, handling };
    const found: TimelineEntry = {
      ...{ what: 'unmatched', at: createdAt, title: `unmatched payment at ${provider}` },
      ...{ cause: reason, actor: null, details },
    };
    if (!resolvedAt) return [found];
    const title = `unmatched payment ${handling}`;
    return [found, { ...found, at: resolvedAt, title, actor: resolvedBy, details: { ...details, resolution } }];
  });
}

import { Inject, Injectable } from '@nestjs/common';
import { ownQuery } from '../../database';
import { Inventory, type Reservation } from '../../inventory';
import {
  Orders,
  ReadDossier,
  type AttemptView,
  type HistoryEntry,
  type OrderDossier,
  type OrderView,
  ListOrders,
  type OrderList,
  type OrderPage,
  type DossierRefund,
  PAYMENT_REFUND,
  type WithoutPersonalData,
  withoutPersonalData,
} from '../../orders';
import { unsentEventsOf, type UnsentEvent } from '../../outbox';
import {
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  TimeoutSummary,
  type TimeoutRecord,
} from '../../timeouts';
import { type MerchantScope } from '../http';

/** Reads everything about one order that operators may see. */
@Injectable()
export class ReadOrderPage {
  constructor(
    private readonly orders: Orders,
    private readonly dossiers: ReadDossier,
    private readonly timeouts: TimeoutSummary,
    private readonly inventory: Inventory,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  /** Undefined: there is no such order. */
  async execute(orderId: string): Promise<OrderPageView | undefined> {
    const { orders, dossiers, timeouts, inventory, options } = this;
    const dossier = await dossiers.execute(orderId);
    const order = dossier && (await orders.get(orderId));
    if (!order) return undefined;
    const history = await orders.history(orderId);
    const queries = { query: <T>(sql: string, values?: unknown[]) => ownQuery<T>(options.dataSource, sql, values) };
    const stock = await inventory.reservations(queries, orderId);
    const unsent = await unsentEventsOf(options.dataSource, options.schema, orderId);
    return toOrderPage(order, history, dossier, { stock, unsent, timeouts: await timeouts.find(dossier.timeouts) });
  }
}

interface TimelineEntry {
  readonly at: Date;
  readonly what: 'history' | 'attempt' | 'look-up' | 'refund' | 'event' | 'unmatched';
  readonly title: string;
  /** What brought it about. Null: not known. */
  readonly cause: string | null;
  /** Who did it. Null: the service. */
  readonly actor: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

export type TimeoutView = Omit<TimeoutRecord, 'generation' | 'payload'>;

/** An attempt with the currency that was paid, which may differ from that of the attempt. */
type PaidAttemptView = AttemptView & { readonly paidCurrency?: string };

/** An order as operators see it. Personal data is left out. */
export interface OrderPageView extends WithoutPersonalData<OrderView> {
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
function toOrderPage(
  order: OrderView,
  history: readonly HistoryEntry[],
  dossier: OrderDossier,
  { stock, timeouts, unsent }: OrderSurroundings,
): OrderPageView {
  const ofMoney = [...ofAttempts(dossier), ...ofRefunds(dossier), ...ofUnmatched(dossier)];
  const timeline = [...history.map(ofHistory), ...ofMoney, ...unsent.map(ofEvent)];
  return {
    ...withoutPersonalData(order),
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
export function toTimeoutView(timeout: TimeoutRecord): TimeoutView {
  const { kind, key, state, dueAt, nextAttemptAt, attempts, lastError } = timeout;
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

export interface OrderSearch extends OrderPage {
  /** The id, a payment's reference, the merchant, or the trace id of orders. */
  readonly q?: string | undefined;
}

export interface OrderSearchPage {
  readonly orders: readonly ReturnType<typeof toRow>[];
  readonly next: string | null;
}

/** A rare filter is searched for this long. Then the page shows what was found, and goes on. */
const BUDGET_MS = 100;

const ORDER_ID = /^[A-Za-z0-9_:.-]{1,64}$/;

const TRACE = /^(?:[0-9a-f]{2}-)?([0-9a-f]{32})(?:-[0-9a-f]{16}-[0-9a-f]{2})?$/;

@Injectable()
export class SearchOrders {
  constructor(
    private readonly orders: Orders,
    private readonly listing: ListOrders,
  ) {}

  /** @throws HttpProblem FORBIDDEN if the filter names a merchant that the operator may not see. */
  async execute({ q, ...page }: OrderSearch, scope: MerchantScope): Promise<OrderSearchPage> {
    const within = { ...page, merchants: scope.visible(page.merchantId) };
    const { orders, next } = await (q === undefined ? this.list(within) : this.find(q, within, scope));
    return { orders: orders.map(toRow), next };
  }

  private list(page: OrderPage): Promise<OrderList> {
    return this.listing.execute(page, BUDGET_MS);
  }

  /** What names few orders comes first. */
  private async find(q: string, page: OrderPage, scope: MerchantScope): Promise<OrderList> {
    const exact = ORDER_ID.test(q) && page.cursor === undefined ? await this.orders.get(q) : undefined;
    if (exact && scope.allows(exact.merchantId)) return { orders: [exact], next: null };
    const referred = await this.list({ ...page, reference: q });
    if (referred.orders.length > 0) return referred;
    const trace = TRACE.exec(q)?.[1];
    if (trace !== undefined) return this.list({ ...page, trace });
    if (!ORDER_ID.test(q) || !scope.allows(q)) return { orders: [], next: null };
    return this.list({ ...page, merchantId: q });
  }
}

/** One row of the list of orders. The amount is in minor units. */
function toRow(order: OrderView) {
  const { id, merchantId, status, amount, currency, expiresAt, expired, autoClose, createdAt, payable } = order;
  return { id, merchantId, status, amount, currency, expiresAt, expired, autoClose, createdAt, payable };
}

/** A refund in progress, with the timeout that asks its provider. */
export interface RefundView extends DossierRefund {
  readonly timeout: TimeoutView;
}

/** Lists refunds that are not done. Each has a timeout, which is parked if the refund has failed for good. */
@Injectable()
export class ListRefunds {
  constructor(
    private readonly dossiers: ReadDossier,
    private readonly timeouts: TimeoutSummary,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  async execute(state: 'failed' | 'pending', limit: number, scope: MerchantScope): Promise<RefundView[]> {
    const stored = state === 'failed' ? 'parked' : 'pending';
    const within = scope.timeouts(this.options.schema);
    const found = await this.timeouts.ofKind(PAYMENT_REFUND, stored, limit, within);
    const refunds = await this.dossiers.refunds(found.map(({ key }) => key));
    const byNumber = new Map(refunds.map((refund) => [refund.number, refund]));
    return found.flatMap((timeout) => {
      const refund = byNumber.get(timeout.key);
      return refund ? [{ ...refund, timeout: toTimeoutView(timeout) }] : [];
    });
  }
}

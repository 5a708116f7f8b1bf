import { createHash } from 'node:crypto';
import { uuidv7 } from 'uuidv7';
import { type StockShortage } from '../../inventory';
import { type PaymentProviders } from '../../payments';
import { type OutboxEntry } from '../../outbox';
import { OWN_KIND, type ScheduleTimeout, type TimeoutRef, type DueTimeout, type TimeoutOutcome } from '../../timeouts';
import { contentionBackoffMs } from '../../database';
import { type OrderView, type Order, closesAt } from './order';
import { type OrderPolicies } from './order-policies';
import { type ActionContext } from './transition';

/** Money in minor units. A number must be a safe integer. */
export type MinorUnits = number | bigint;

/** An attempt to pay that the caller has started, or is about to start, at a provider. */
export interface NewAttempt {
  readonly provider: string;
  /** The merchant reference, unique per provider. */
  readonly reference: string;
  /** @default the order's amount and currency */
  readonly amount?: MinorUnits | undefined;
  readonly currency?: string | undefined;
  /**
   * The time after which the provider rejects the buyer, because it was given this limit. Always send one to the
   * provider.
   */
  readonly timeExpire?: Date | undefined;
  /** One of several merchants of the provider. */
  readonly merchantAccount?: string | undefined;
  /**
   * False: stored before the provider or the buyer receives it. Register it again without this field before you hand it
   * over. Until then, "not found" at the provider counts as closed. @default true
   */
  readonly handedOver?: boolean | undefined;
}

/** An attempt to pay an order that exists. */
export interface OrderAttempt extends NewAttempt {
  readonly orderId: string;
}

/** A line of a new order. */
export interface NewOrderLine {
  readonly sku: string;
  readonly quantity: number;
  readonly unitAmount: MinorUnits;
}

/** An order to be placed. Its shape must have been checked. Give at most one of `paymentWindowMs` and `expiresAt`. */
export interface NewOrder {
  /** 1 to 64 letters, digits, and `_-:.`; the permanent identity of the order. */
  readonly id: string;
  /** @default 'default' */
  readonly merchantId?: string | undefined;
  readonly amount: MinorUnits;
  readonly currency: string;
  readonly paymentWindowMs?: number | undefined;
  readonly expiresAt?: Date | undefined;
  readonly graceMs?: number | undefined;
  readonly reminderOffsetsMs?: readonly number[] | undefined;
  /** Stock to reserve. @default [] */
  readonly lines?: readonly NewOrderLine[] | undefined;
  /** @default true */
  readonly autoClose?: boolean | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly attempt?: NewAttempt | undefined;
  /** Chosen by the caller. The same key with other content is rejected. Unique per merchant. */
  readonly idempotencyKey?: string | undefined;
}

declare const CHECKED: unique symbol;

/** An order whose fields a door has checked by its schema, so that nobody checks them again. */
export type CheckedOrder = NewOrder & { readonly [CHECKED]: true };

/** Why an order was not placed. Nothing of it was written. */
export type PlaceRejection =
  | { readonly code: 'ORDER_EXISTS' }
  | { readonly code: 'IDEMPOTENCY_KEY_REUSED' }
  | { readonly code: 'OUT_OF_STOCK'; readonly shortages: readonly StockShortage[] }
  | { readonly code: 'UNKNOWN_SKU'; readonly skus: readonly string[] }
  | { readonly code: 'PAYMENT_WINDOW_OUT_OF_RANGE'; readonly minMs: number; readonly maxMs: number }
  | { readonly code: 'ATTEMPT_EXISTS' }
  | ProviderRejection;

/**
 * The result for one order of a request. `replayed`: the same order was placed before; `order` is its current state.
 */
export type PlaceResult =
  | { readonly outcome: 'placed' | 'replayed'; readonly id: string; readonly order: OrderView }
  | ({ readonly outcome: 'rejected'; readonly id: string } & PlaceRejection);

/** Why an attempt of a provider is rejected: it could not be looked up, so its order could not be closed. */
export type ProviderRejection =
  | { readonly code: 'PROVIDER_NOT_CONFIGURED'; readonly provider: string; readonly configured: readonly string[] }
  /** The provider has several merchants, and the requested one is missing or not configured. */
  | {
      readonly code: 'MERCHANT_ACCOUNT_NOT_CONFIGURED';
      readonly provider: string;
      readonly merchantAccount: string | null;
    };

/** Pure: returns undefined if this process can look up such an attempt. @param attempt with its account resolved. */
export function refuseProvider(
  { provider: name, merchantAccount = null }: { provider: string; merchantAccount?: string | null | undefined },
  providers: Pick<PaymentProviders, 'get' | 'names'>,
): ProviderRejection | undefined {
  const provider = providers.get(name);
  if (!provider) return { code: 'PROVIDER_NOT_CONFIGURED', provider: name, configured: providers.names() };
  const isKnown = merchantAccount === null ? provider.defaultAccount !== null : provider.hasAccount?.(merchantAccount);
  if (isKnown === false) return { code: 'MERCHANT_ACCOUNT_NOT_CONFIGURED', provider: name, merchantAccount };
  return undefined;
}

export interface OrderDraft {
  readonly input: NewOrder;
  readonly by: ActionContext;
  readonly id: string;
  readonly merchantId: string;
  readonly amount: bigint;
  readonly lines: readonly NewOrderLine[];
  /** Absent if the order specifies an absolute deadline. */
  readonly windowMs: number | undefined;
  readonly autoClose: boolean;
  readonly graceMs: number;
  readonly reminderOffsetsMs: readonly number[];
  readonly fingerprint: string;
  readonly isAnnounced: boolean;
}

interface DraftPlan {
  readonly policies: OrderPolicies;
  readonly providers: Pick<PaymentProviders, 'get'>;
}

/** Pure: applies the policies. The order's own come first, then its merchant's, then the global ones. */
export function draftOrder(input: NewOrder, by: ActionContext, { policies, providers }: DraftPlan): OrderDraft {
  const merchantId = input.merchantId ?? 'default';
  const policy = policies.of(merchantId);
  return {
    input: input.attempt ? { ...input, attempt: withAccount(input.attempt, providers) } : input,
    by,
    id: input.id,
    merchantId,
    amount: BigInt(input.amount),
    lines: input.lines ?? [],
    windowMs: input.expiresAt ? undefined : (input.paymentWindowMs ?? policy.paymentWindowMs),
    autoClose: input.autoClose ?? true,
    graceMs: policies.graceMs(merchantId, input.attempt?.provider, input.graceMs),
    reminderOffsetsMs: [...new Set(input.reminderOffsetsMs ?? policy.reminderOffsetsMs)],
    fingerprint: orderFingerprint(input),
    isAnnounced: policy.placedEvents === 'send',
  };
}

/** Names that no other draft of the same transaction may have. */
export function namesOf({ id, merchantId, input }: OrderDraft): string[] {
  const { idempotencyKey } = input;
  return [`order ${id}`, ...(idempotencyKey === undefined ? [] : [`key ${merchantId}\n${idempotencyKey}`])];
}

export function placedOrder(draft: OrderDraft, expiresAt: Date, createdAt: Date): Order {
  const { id, merchantId, amount, autoClose, graceMs, reminderOffsetsMs, input } = draft;
  return {
    id,
    merchantId,
    status: 'PENDING',
    version: 1,
    amount,
    currency: input.currency,
    expiresAt,
    autoClose,
    graceMs,
    reminderOffsetsMs,
    closingReason: null,
    createdAt,
    closedAt: null,
    paidAt: null,
  };
}

/** Equal for equal content, whatever the order of its keys. Distinguishes a repeated request from a conflicting one. */
export function orderFingerprint(order: NewOrder): string {
  const { merchantId = 'default', autoClose = true, lines = [] } = order;
  // The key identifies the request and is not part of its content.
  const withDefaults = { ...order, merchantId, autoClose, lines, idempotencyKey: undefined };
  return createHash('sha256').update(canonical(withDefaults)).digest('base64url');
}

function canonical(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Date) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}

/** The event `order.placed` of a new order, except for its times, which only the database knows. */
export interface PlacedEvent {
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly traceparent: string | undefined;
}

interface Times {
  readonly occurredAt: Date;
  readonly expiresAt: Date;
}

export function placedEvent({ id: orderId, merchantId, amount, input, by }: OrderDraft): PlacedEvent {
  const id = uuidv7();
  const about = { id, type: 'order.placed', version: 1, orderId, merchantId, orderVersion: 1 };
  const body = { ...about, amount: Number(amount), currency: input.currency, cause: by.cause };
  return { id, body, traceparent: by.traceparent };
}

export function placedEntry({ id, body, traceparent }: PlacedEvent, { occurredAt, expiresAt }: Times): OutboxEntry {
  const times = { occurredAt: occurredAt.toISOString(), expiresAt: expiresAt.toISOString() };
  const entry = { id, route: 'event', routingKey: 'order.placed', body: { ...body, ...times } } as const;
  return traceparent === undefined ? entry : { ...entry, traceparent };
}

/**
 * The merchant account that a payment belongs to: the one that it names, otherwise the provider's default. Null: the
 * provider has no merchants, or no default. The account identifies a payment, so always resolve it with this rule.
 */
export function accountOf(
  { provider, merchantAccount }: { readonly provider: string; readonly merchantAccount?: string | undefined },
  providers: Pick<PaymentProviders, 'get'>,
): string | null {
  return merchantAccount ?? providers.get(provider)?.defaultAccount ?? null;
}

/** The attempt with its account, because the default may change. */
export function withAccount(attempt: NewAttempt, providers: Pick<PaymentProviders, 'get'>): NewAttempt {
  const account = accountOf(attempt, providers);
  return account === null ? attempt : { ...attempt, merchantAccount: account };
}

/** Kind of the timeout that closes an order. Its key is the order id. */
export const ORDER_PAYMENT = 'order.payment';

/** Kind of the reminders before the deadline. The key consists of order id and offset. */
export const ORDER_REMINDER = 'order.reminder';

/** Kind of the payment watch after the end of an order. The key is the order id. */
export const ORDER_LATE_WATCH = 'order.late-watch';

/** Kind of the refunds. The key is the refund number. */
export const PAYMENT_REFUND = 'payment.refund';

/**
 * For all order handlers. None pauses between two statements, so a frozen process keeps its locks for 5 s at most.
 * Statements take milliseconds. With 4 s for a statement and 1 s for the answer, an order whose connection fell silent
 * is decided within 5 s. A run takes less than a second, and a run that hangs keeps one of the two lanes of its kind
 * for 10 s.
 */
export const OWN_LIMITS = {
  ...{ idleTimeoutMs: 5_000, statementTimeoutMs: 4_000, runTimeoutMs: 10_000 },
  [OWN_KIND]: true,
} as const;

type Deadline = Pick<Order, 'id' | 'expiresAt' | 'graceMs' | 'autoClose' | 'reminderOffsetsMs'>;

/** Kind of the look-ups of payments that notifications or reports mentioned. Its key is the order id. */
export const PAYMENT_RECONCILIATION = 'payment.reconciliation';

export function reconcileTimeout(orderId: string): TimeoutRef {
  return { kind: PAYMENT_RECONCILIATION, key: orderId };
}

/** The timeout that asks the provider for this refund. `isCheck`: the provider has news of it, so it may have failed since. */
export function refundTimeout(number: string, isCheck = false): TimeoutRef & Pick<ScheduleTimeout, 'payload'> {
  return { kind: PAYMENT_REFUND, key: number, ...(isCheck ? { payload: { isCheck } } : {}) };
}

export function paymentTimeout(orderId: string): TimeoutRef {
  return { kind: ORDER_PAYMENT, key: orderId };
}

/** The timeouts that close these orders, due now. They decide about the orders as they are then. */
export function closingsNow(orderIds: readonly string[]): (TimeoutRef & { readonly afterMs: number })[] {
  return orderIds.map((id) => ({ ...paymentTimeout(id), afterMs: 0 }));
}

function reminderTimeout(orderId: string, offsetMs: number): TimeoutRef {
  return { kind: ORDER_REMINDER, key: `${orderId}:${offsetMs}` };
}

/** Splits a reminder's key into order id and offset. Order ids may contain colons. */
export function parseReminderKey(key: string): { orderId: string; offsetMs: number } {
  const colon = key.lastIndexOf(':');
  return { orderId: key.slice(0, colon), offsetMs: Number(key.slice(colon + 1)) };
}

/**
 * When an order that nothing closes is examined once after it may have missed money: of two transactions that run at the
 * same time, one that stores the money and one that places the order, neither sees the other. Nearly all are shorter.
 */
const CROSSED_MS = 10_000;

/**
 * The timeout that books money which is already there, before any deadline.
 *
 * @param hasMoney whether it was found. Otherwise it may only have been missed, and the deadline finds it, if there is one.
 */
export function earlyMoneyTimeout(
  { id, autoClose }: Pick<Deadline, 'id' | 'autoClose'>,
  hasMoney: boolean,
  traceparent?: string,
): ScheduleTimeout[] {
  if (!hasMoney && autoClose) return [];
  const trace = traceparent === undefined ? {} : { traceparent };
  return [{ ...paymentTimeout(id), afterMs: hasMoney ? 0 : CROSSED_MS, ...trace }];
}

export function deadlineTimeouts(order: Deadline, now: Date, traceparent?: string): ScheduleTimeout[] {
  const trace = traceparent === undefined ? {} : { traceparent };
  const close = { ...paymentTimeout(order.id), dueAt: closesAt(order), ...trace };
  const reminders = order.reminderOffsetsMs
    .map((offsetMs) => ({
      ...reminderTimeout(order.id, offsetMs),
      dueAt: remindsAt(order.expiresAt, offsetMs),
      ...trace,
    }))
    .filter(({ dueAt }) => dueAt > now);
  return order.autoClose ? [close, ...reminders] : reminders;
}

/** All timeouts that an order may have. Used to cancel them. */
export function allTimeouts({ id, reminderOffsetsMs }: Pick<Deadline, 'id' | 'reminderOffsetsMs'>): TimeoutRef[] {
  return [paymentTimeout(id), ...reminderOffsetsMs.map((offsetMs) => reminderTimeout(id, offsetMs))];
}

export function remindsAt(expiresAt: Date, offsetMs: number): Date {
  return new Date(expiresAt.getTime() - offsetMs);
}

/** The kinds of timeouts that orders have. Every instance handles all of them. */
export const ORDER_KINDS: readonly string[] = [
  ORDER_PAYMENT,
  ORDER_REMINDER,
  ORDER_LATE_WATCH,
  PAYMENT_REFUND,
  PAYMENT_RECONCILIATION,
];

/**
 * Another transaction has locked a row that the timeout needs. The service's own transactions are short, because none
 * waits for a remote answer. Others may be long, so the pause grows: a row that is locked for a minute is not tried 300
 * times.
 */
export function busyOutcome({ dueAt }: Pick<DueTimeout, 'dueAt'>, now: Date, what = 'the order row'): TimeoutOutcome {
  const afterMs = contentionBackoffMs(now.getTime() - dueAt.getTime(), Math.random());
  return { type: 'retry', counted: false, afterMs, reason: `${what} is locked` };
}

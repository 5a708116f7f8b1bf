import { createHash } from 'node:crypto';
import { uuidv7 } from 'uuidv7';
import { type PaymentProviders } from '../../payments';
import { type OutboxEntry } from '../../outbox';
import { type Order } from './order';
import { type OrderPolicies } from './order-policies';
import { withAccount } from './reported-payment';
import { type ActionContext } from './transition';
import { type NewOrder, type NewOrderLine } from './new-order';

/** A new order with all defaults. */
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
  /** Whether the order is announced by `order.placed`. */
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

/** The order that was placed from a draft. */
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

/** The complete event. */
export function placedEntry({ id, body, traceparent }: PlacedEvent, { occurredAt, expiresAt }: Times): OutboxEntry {
  const times = { occurredAt: occurredAt.toISOString(), expiresAt: expiresAt.toISOString() };
  const entry = { id, route: 'event', routingKey: 'order.placed', body: { ...body, ...times } } as const;
  return traceparent === undefined ? entry : { ...entry, traceparent };
}

import { type Order } from '../order';
import { orderFingerprint } from './order-fingerprint';
import { type OrderPolicies } from '../order-policies';
import { type NewOrder, type NewOrderLine } from './new-order';
import { withAccount } from '../pay/with-account';
import { type PaymentProviders } from '../../payments';
import { type ActionContext } from '../transition-cause';

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

import { type Order } from '../order';
import { orderFingerprint } from './order-fingerprint';
import { type OrderPolicies } from '../order-policies';
import { type NewOrder } from './new-order';
import { withAccount } from '../pay/with-account';
import { type PaymentProviders } from '../../payments';
import { type ActionContext } from '../transition-cause';

/** A new order with every default filled in. */
export interface OrderDraft {
  readonly input: NewOrder;
  readonly by: ActionContext;
  readonly id: string;
  readonly merchantId: string;
  readonly amount: bigint;
  /** Absent where the order gave an absolute deadline. */
  readonly windowMs: number | undefined;
  readonly autoClose: boolean;
  readonly graceMs: number;
  readonly reminderOffsetsMs: readonly number[];
  readonly fingerprint: string;
}

interface DraftPlan {
  readonly policies: OrderPolicies;
  readonly providers: Pick<PaymentProviders, 'get'>;
}

/** Pure: applies the policies, order before merchant before global. */
export function draftOrder(input: NewOrder, by: ActionContext, { policies, providers }: DraftPlan): OrderDraft {
  const merchantId = input.merchantId ?? 'default';
  const policy = policies.of(merchantId);
  return {
    input: input.attempt ? { ...input, attempt: withAccount(input.attempt, providers) } : input,
    by,
    id: input.id,
    merchantId,
    amount: BigInt(input.amount),
    windowMs: input.expiresAt ? undefined : (input.paymentWindowMs ?? policy.paymentWindowMs),
    autoClose: input.autoClose ?? true,
    graceMs: policies.graceMs(merchantId, input.attempt?.provider, input.graceMs),
    reminderOffsetsMs: [...new Set(input.reminderOffsetsMs ?? policy.reminderOffsetsMs)],
    fingerprint: orderFingerprint(input),
  };
}

/** What no other draft of the same transaction may have, too. */
export function namesOf({ id, merchantId, input }: OrderDraft): string[] {
  const { idempotencyKey } = input;
  return [`order ${id}`, ...(idempotencyKey === undefined ? [] : [`key ${merchantId}\n${idempotencyKey}`])];
}

/** The order that a draft has become. */
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

import { type UnmatchedPayment } from '../api/order-contract';

const FOREIGN = ['unknown-order', 'attempt-mismatch'];

/** Pure: whether the payment has no order, or that of somebody else. Other money is booked on its order already. */
export function isForeign({ orderId, reason }: Pick<UnmatchedPayment, 'orderId' | 'reason'>): boolean {
  return orderId === null || FOREIGN.includes(reason);
}

const OPEN = ['kept', 'waiting'];

/** Pure: whether a person can decide about it: it waits, or was settled by mistake. */
export function isActionable({ handling }: Pick<UnmatchedPayment, 'handling'>): boolean {
  return OPEN.includes(handling) || handling === 'settled';
}

/** Pure: whether it still waits for a person, or for the rest of the money. */
export function isOpen({ handling }: Pick<UnmatchedPayment, 'handling'>): boolean {
  return OPEN.includes(handling);
}

export type UnmatchedVerb = 'refund' | 'settle' | 'reopen' | 'assign';

/** Pure: the path and the body of an action. A refund is one of the payment's order. */
export function unmatchedRequest(
  payment: Pick<UnmatchedPayment, 'id' | 'orderId' | 'provider' | 'reference' | 'merchantAccount'>,
  verb: UnmatchedVerb,
  body: { readonly reason: string; readonly orderId?: string },
): [path: string, body: object] {
  const { id, orderId, provider, reference, merchantAccount } = payment;
  if (verb !== 'refund') return [`payments/unmatched/${encodeURIComponent(id)}/${verb}`, body];
  const named = { provider, reference, ...(merchantAccount === null ? {} : { merchantAccount }) };
  return [`orders/${encodeURIComponent(orderId ?? '')}/refund`, { ...named, ...body }];
}

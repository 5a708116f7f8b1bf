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

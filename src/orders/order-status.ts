/** The statuses of an order, as text in the database, in events, and in the API. */
export const ORDER_STATUSES = [
  'PENDING',
  'CLOSING',
  'CLOSED',
  'CANCELLED',
  'PAID',
  'REFUNDING',
  'CLOSED_REFUNDED',
] as const;

/**
 * The status of an order.
 * - `PENDING`: waits for the buyer.
 * - `CLOSING`: accepts no new payment attempt, and open ones are being closed.
 * - `CLOSED`: not paid in time, stock released.
 * - `CANCELLED`: canceled by the buyer or the shop.
 * - `PAID`: stock sold.
 * - `REFUNDING`, `CLOSED_REFUNDED`: money that arrived too late is being refunded, or is refunded.
 */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Every allowed transition. No other one is ever written. */
export const TRANSITIONS = {
  PENDING: ['CLOSING', 'CLOSED', 'CANCELLED', 'PAID'],
  CLOSING: ['CLOSED', 'CANCELLED', 'PAID'],
  // Money may arrive after closing. The late-payment policy then revives the order or refunds the money.
  CLOSED: ['PAID', 'REFUNDING'],
  // Canceled on purpose, so never revived.
  CANCELLED: ['REFUNDING'],
  REFUNDING: ['CLOSED_REFUNDED'],
  PAID: [],
  // By another attempt, after the first one was refunded. Or its refund failed after all.
  CLOSED_REFUNDED: ['REFUNDING'],
} as const satisfies Record<OrderStatus, readonly OrderStatus[]>;

/** Whether the table allows this transition. */
export function canTransition(from: OrderStatus, to: OrderStatus): boolean {
  return (TRANSITIONS[from] as readonly OrderStatus[]).includes(to);
}

/** Whether the order is still undecided: its deadline can end it. */
export function isUndecided(status: OrderStatus): status is 'PENDING' | 'CLOSING' {
  return status === 'PENDING' || status === 'CLOSING';
}

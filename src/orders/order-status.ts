/** Where an order can be. Text in the database, in events and in the API. */
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
 * - `PENDING`: waits for the buyer · `CLOSING`: takes no new payment attempt, open ones are being closed
 * - `CLOSED`: not paid in time, stock given back · `CANCELLED`: called off by the buyer or the shop
 * - `PAID`: stock sold · `REFUNDING`, `CLOSED_REFUNDED`: money that came too late is on its way back, is back
 */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Every step an order may take. What is not listed here is not written, whoever asks. */
export const TRANSITIONS = {
  PENDING: ['CLOSING', 'CLOSED', 'CANCELLED', 'PAID'],
  CLOSING: ['CLOSED', 'CANCELLED', 'PAID'],
  // Money may still arrive after closing: the late-payment policy revives the order or gives the money back.
  CLOSED: ['PAID', 'REFUNDING'],
  // Called off on purpose, so never revived.
  CANCELLED: ['REFUNDING'],
  REFUNDING: ['CLOSED_REFUNDED'],
  PAID: [],
  // By another attempt, after the first one's money is back.
  CLOSED_REFUNDED: ['REFUNDING'],
} as const satisfies Record<OrderStatus, readonly OrderStatus[]>;

/** Whether the table allows this step. */
export function canTransition(from: OrderStatus, to: OrderStatus): boolean {
  return (TRANSITIONS[from] as readonly OrderStatus[]).includes(to);
}

/** Whether the deadline is still to decide about the order. */
export function isUndecided(status: OrderStatus): status is 'PENDING' | 'CLOSING' {
  return status === 'PENDING' || status === 'CLOSING';
}

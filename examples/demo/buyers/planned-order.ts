import { type BuyerGroup } from './buyer-group';

export const CHANNELS = ['http', 'amqp', 'module'] as const;

/** By which of the three ways a shop talks to the service about an order. */
export type ChannelName = (typeof CHANNELS)[number];

export interface PlannedLine {
  readonly sku: string;
  readonly quantity: number;
  /** Minor units. */
  readonly unitAmount: number;
}

/** What goes wrong at the provider for one payment, in the words of the payment simulator. */
export type PlannedFault =
  | { readonly fault: 'latency'; readonly ms: number; readonly phase: 'before-effect' | 'after-effect' }
  | {
      readonly fault: 'error' | 'drop' | 'lost-response' | 'wrong-signature';
      readonly afterMs: number;
      readonly forMs: number;
    };

/** The attempt to pay. All times in milliseconds after the order is placed. */
export interface PlannedPayment {
  /** Absent: the buyer opened the payment page and never pays. */
  readonly paysAtMs?: number;
  /** Whether the provider tells the shop, and whether that gets through. Absent: it does not tell. */
  readonly notify?: 'sent' | 'lost';
  /** How long the notification takes to the shop. */
  readonly notifyDelayMs?: number;
  /** What the buyer pays instead of the whole amount. Minor units. */
  readonly partialAmount?: number;
  /** The service hears of the payment only when it is reported. */
  readonly isUnannounced?: true;
  readonly faults: readonly PlannedFault[];
}

/** What the shop does later, through the channel that placed the order. Milliseconds after that. */
export type PlannedAction =
  | { readonly type: 'report-paid'; readonly atMs: number }
  | { readonly type: 'cancel'; readonly atMs: number }
  | { readonly type: 'move-deadline'; readonly atMs: number; readonly toMs: number };

/** One order of the demo, with everything that its buyer and its shop will do. */
export interface PlannedOrder {
  readonly id: string;
  readonly group: BuyerGroup;
  readonly channel: ChannelName;
  /** Milliseconds after the start of the run. */
  readonly placeAtMs: number;
  /** The first deadline, milliseconds after placing. */
  readonly windowMs: number;
  readonly lines: readonly PlannedLine[];
  /** Minor units. */
  readonly amount: number;
  readonly payment?: PlannedPayment;
  readonly action?: PlannedAction;
}

/** What it takes to drive an order. */
export type DrivenOrder = Omit<PlannedOrder, 'group'>;

/** The order's number at the payment provider. */
export function referenceOf(order: Pick<PlannedOrder, 'id'>): string {
  return `pay-${order.id}`;
}

import { type ChannelName, type PlannedLine } from '../buyers/planned-order';

/** An order as the shop sends it. */
export interface OrderRequest {
  readonly id: string;
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly expiresAt: Date;
  readonly lines: readonly PlannedLine[];
  readonly attempt?: { readonly provider: string; readonly reference: string };
}

/** A payment that the shop has learned of. */
export interface PaymentReport {
  readonly orderId: string;
  readonly provider: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
}

/** One of the ways a shop talks to the service. Each call rejects when the service refuses. */
export interface ShopChannel {
  place(order: OrderRequest): Promise<void>;
  reportPaid(payment: PaymentReport): Promise<void>;
  cancel(orderId: string): Promise<void>;
  moveDeadline(orderId: string, expiresAt: Date): Promise<void>;
}

export type ShopChannels = Readonly<Record<ChannelName, ShopChannel>>;

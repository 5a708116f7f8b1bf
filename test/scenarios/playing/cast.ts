import { type LedgerEntry } from 'nestjs-order-timeout-payment-simulator';
import { type OrderStatus } from '../../../src/orders';
import { type Random } from '../../support/buyers/random';
import { type Plan } from '../scenario';
import { type Flaw } from './hand-made-notification';
import { type Placed } from './placed-order';

/** What the shop says of a payment. */
export interface Report {
  /** Minor units. @default the price */
  readonly amount?: number;
  /** By the provider's own number instead of ours. */
  readonly isByProvidersName?: true;
}

/** What the scenario of one order can do and see while it runs. */
export interface Cast {
  readonly order: Placed;
  readonly random: Random;
  /** Waits for an instant of the story. Milliseconds after the placing. */
  at(ms: number): Promise<void>;
  /** Lets the buyer wait. Milliseconds. */
  after(ms: number): Promise<void>;
  untilStatus(...wanted: readonly OrderStatus[]): Promise<OrderStatus>;
  /** Until the provider's books show it. @param index of the payment in the plan. */
  untilLedger(index: number, what: string, holds: (entry: LedgerEntry) => boolean): Promise<LedgerEntry>;
  /** The buyer confirms at the provider. False: he is refused. */
  pay(index: number): Promise<boolean>;
  /** Rejects with TooLateError when the order takes no attempt any more. */
  register(index: number): Promise<void>;
  cancel(): Promise<void>;
  /** Rejects with TooLateError when the deadline has passed. */
  extend(byMs: number): Promise<void>;
  /** Another order for the same goods. */
  placeRival(plan: Plan): Promise<void>;
  /** Posts a notification that says "paid", and that the provider did not send. @returns whether the service took it. */
  postByHand(index: number, flaw: Flaw): Promise<boolean>;
  /** The service's answer to an attempt that it refuses; undefined: it takes it. */
  refusalOf(index: number): Promise<string | undefined>;
  /** The shop reports a payment. @returns the outcome. */
  report(index: number, what?: Report): Promise<string>;
  /** Another order that is paid by the same references at the other merchant. */
  placeTwin(plan: Plan): Promise<void>;
  /** Until the payment is kept for a person as one that no order knows, and the subscriber of events was told. */
  untilKept(index: number): Promise<void>;
  /** The merchant refunds a part directly at the provider. Minor units. */
  refundDirectly(index: number, amount: number): Promise<void>;
  /** Until the service gives one of the order's timeouts up and says so to the subscriber of events. */
  untilParked(): Promise<void>;
  /** An operator has seen to it: what was given up is tried again. */
  replayParked(): Promise<void>;
  /** The merchant closes the payment at the provider by his own hands. False: the provider refuses. */
  closeByHand(index: number): Promise<boolean>;
}

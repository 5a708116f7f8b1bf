import { type Clock } from './clock';
import { type FaultPlan } from './fault-plan';
import { type PaymentEvent } from './payment-hooks';
import { type LedgerPayment, type PaymentLedger } from './payment-ledger';
import { type Reply, type SimulatorRequest } from './reply';
import { type SimulatedPayment } from './simulated-payment';
import { type Fault, type Operation } from './simulator-input';

/** What a provider posts to the shop. */
export interface NotificationPost {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One provider's way of talking, on top of the ledger. */
export interface SimulatedProtocol {
  /** First path segment, and `provider` of its payments: 'alipay' | 'wechat-pay' | 'stripe'. */
  readonly provider: string;
  /** Answers a call of a shop; `path` has no provider segment any more. */
  answer(request: SimulatorRequest): Promise<Reply>;
  /** What the provider posts to the shop when `event` happened to the payment; undefined: it posts nothing for this event. */
  notification(payment: SimulatedPayment, event: PaymentEvent): NotificationPost | undefined;
  /** Whether the shop's answer ends the repetitions. */
  isAcknowledged(status: number, body: string): boolean;
  /** Delays between deliveries until acknowledged, in ms of the real protocol; the simulator divides them by its `retrySpeedUp`. */
  readonly retryDelaysMs: readonly number[];
}

/**
 * What came of a call under the faults that are set.
 * - `reply`: hang, drop, error, error-without-body, lost-response; to be used as it is
 * - `refused`: nothing was done; answer `not-found` or `rate-limited` in the protocol's words
 * - `done`: `fault` says how the answer is to be spoiled: unsigned, wrong-signature, skewed-clock, garbage, …
 */
export type Performed<T> =
  | { readonly type: 'reply'; readonly reply: Reply }
  | { readonly type: 'refused'; readonly fault: Fault }
  | { readonly type: 'done'; readonly value: T; readonly fault: Fault | undefined };

/** What a protocol works with. Payments are made by `ledger.create(paymentInput.parse({ provider, reference, … }))`. */
export interface ProtocolContext {
  readonly clock: Clock;
  readonly ledger: PaymentLedger;
  /** The global ones; those of a payment are in `ledger.find(provider, reference)?.faults`. */
  readonly faults: FaultPlan;
  /** Ends every wait. */
  readonly stopping: AbortSignal;
  /** Runs `effect` when the latencies that are set say so, unless a fault forbids it. */
  perform<T>(operation: Operation, payment: LedgerPayment | undefined, effect: () => T): Promise<Performed<T>>;
}

import { type OrderEventType } from '../orders';

/** Signed webhooks about orders, as Standard Webhooks describes them. */
export interface WebhookOptions {
  /** Where to send events. An empty list sends none. */
  readonly endpoints: readonly WebhookEndpoint[];
  /** How long an endpoint may take to answer, milliseconds, 1000 to 60000. @default 15000 */
  readonly timeoutMs?: number;
  /**
   * Waits after the first, second, … failed attempt, milliseconds. After the last one the delivery is parked.
   * @default 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h
   */
  readonly retryDelaysMs?: readonly number[];
}

/** One receiver of webhooks. */
export interface WebhookEndpoint {
  /** Stable name; what is undelivered belongs to it. Letters, digits, `.`, `_`, `-`; at most 64. */
  readonly name: string;
  /** An `https:` URL. `http:` needs `allowPrivateNetwork`. */
  readonly url: string;
  /** `whsec_` and 24 to 64 bytes in base64. Each signs, so that the receiver can change from one to the next. */
  readonly secrets: readonly string[];
  /** @default all order events */
  readonly events?: readonly OrderEventType[];
  /** Requests at once in this process. The sweep may add half as many. @default 10 */
  readonly concurrency?: number;
  /** Whether the URL may lead to a private or loopback address. @default false */
  readonly allowPrivateNetwork?: boolean;
}

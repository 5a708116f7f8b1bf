import { markListener } from './listener-metadata';
import { type OrderEvent, type OrderEventName } from './order-event';
import { type OrderListenerOptions } from './order-listener-options';

/** How an event came to a listener. */
export interface OrderDelivery {
  /** 1 for the first call, and one more after each failed one. */
  readonly attempt: number;
  /** Aborted when `timeoutMs` is over or the process stops. Pass it to every request. */
  readonly signal: AbortSignal;
  /** W3C traceparent of the work that changed the order. */
  readonly traceparent?: string;
}

/**
 * Marks a method of a provider that is called with each of these events after the commit, outside any transaction.
 * Delivery is at least once, in one of the instances, and in no particular order. If the method throws, it is called again
 * later, and parked after `maxAttempts`. With an empty list it hears nothing new, and still gets what is undelivered.
 *
 * Every process that changes orders must have the listener, because that process stores what is to be delivered.
 */
export function OnOrder<Name extends OrderEventName>(
  events: Name | readonly Name[],
  options: OrderListenerOptions = {},
): <Method extends (event: OrderEvent<Name>, delivery: OrderDelivery) => unknown>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void {
  return markListener({ events: typeof events === 'string' ? [events] : events, when: 'after-commit', options });
}

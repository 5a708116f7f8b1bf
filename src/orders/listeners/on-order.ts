import { type EntityManager } from 'typeorm';
import { findUnknownOptions, InvalidOptionsError, withoutUndefined } from '../../errors';
import { type TimeoutHandlerOptions } from '../../timeouts';
import { InvalidOrderListenerError } from '../model/errors';
import { type OrderEvent, type OrderEventName } from './order-listeners';

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

/**
 * Marks a method of a provider that is called with these events in the transaction that changes the orders, before its
 * commit: with one event after a request, and with up to a few hundred when orders are closed. What it writes through `tx`
 * is committed with the change. An error rolls everything back, the change of the order included.
 *
 * It holds up the transaction, so it must make no remote calls.
 */
export function OnOrderInTransaction<Name extends OrderEventName>(
  events: Name | readonly Name[],
): <Method extends (events: OrderEvent<Name>[], tx: EntityManager) => unknown>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void {
  return markListener({ events: typeof events === 'string' ? [events] : events, when: 'in-transaction', options: {} });
}

const METADATA = 'order-timeout:order-listener';

/** What a decorator says of a method. */
export interface ListenerMetadata {
  readonly events: readonly OrderEventName[];
  readonly when: 'in-transaction' | 'after-commit';
  readonly options: OrderListenerOptions;
}

/** @throws InvalidOrderListenerError if the method has a decorator of ours already. */
function markListener(metadata: ListenerMetadata) {
  return (target: object, key: string | symbol, descriptor: { value?: unknown }): void => {
    const method = descriptor.value as object;
    if (listenerMetadataOf(method))
      throw new InvalidOrderListenerError(
        `${target.constructor.name}.${String(key)}`,
        'has two decorators; name all its events in one, as a list',
      );
    Reflect.defineMetadata(METADATA, metadata, method);
  };
}

export function listenerMetadataOf(method: object): ListenerMetadata | undefined {
  return Reflect.getMetadata(METADATA, method) as ListenerMetadata | undefined;
}

/** Options of `@OnOrder`. */
export interface OrderListenerOptions {
  /**
   * Stable name; what is undelivered belongs to it. Letters, digits, `.`, `_`, `-`; at most 80. @default 'Class.method'
   */
  readonly name?: string;
  /** Calls at once in this process. The sweep may add half as many. @default 10 */
  readonly concurrency?: number;
  /** How long one call may take, milliseconds. Then an attempt is counted. @default 15000 */
  readonly timeoutMs?: number;
  /** Failed calls before the delivery is parked. @default 5 */
  readonly maxAttempts?: number;
}

const DEFAULTS = { concurrency: 10, timeoutMs: 15_000, maxAttempts: 5 };

const RANGES: Record<keyof typeof DEFAULTS, readonly [number, number]> = {
  concurrency: [1, 10_000],
  timeoutMs: [1_000, 598_000],
  maxAttempts: [1, 1_000],
};

/** @throws InvalidOptionsError naming every value out of range. */
export function handlerOptionsOf(listener: string, options: OrderListenerOptions): TimeoutHandlerOptions {
  const { concurrency, timeoutMs, maxAttempts } = { ...DEFAULTS, ...withoutUndefined(options) };
  const given = { concurrency, timeoutMs, maxAttempts };
  const problems = findUnknownOptions(options, ['name', ...Object.keys(DEFAULTS)]);
  for (const name of Object.keys(RANGES) as (keyof typeof RANGES)[]) {
    const [min, max] = RANGES[name];
    const value = given[name];
    if (Number.isInteger(value) && value >= min && value <= max) continue;
    problems.push(`${name} must be an integer from ${min} to ${max} (got ${String(value)})`);
  }
  if (problems.length > 0) throw new InvalidOptionsError(`the order listener ${listener}`, problems);
  return deliveryLimits(given);
}

interface DeliveryLimits {
  /** Calls at once. */
  readonly concurrency: number;
  /** How long one may take, milliseconds. */
  readonly timeoutMs: number;
  readonly maxAttempts: number;
}

/** The engine ends a look-up this long before its lease. */
const LEASE_MARGIN_MS = 2_000;

/**
 * Options of a handler that delivers by look-ups. A batch begins when there is room for all of its look-ups, so that no more
 * run at once than wanted, except for a page of the sweep.
 */
export function deliveryLimits({ concurrency, timeoutMs, maxAttempts }: DeliveryLimits): TimeoutHandlerOptions {
  const batchSize = Math.min(Math.ceil(concurrency / 2), 200);
  return {
    batchSize,
    concurrency: 1,
    lookUpConcurrency: concurrency - batchSize + 1,
    leaseMs: timeoutMs + LEASE_MARGIN_MS,
    maxAttempts,
  };
}

import { type EntityManager } from 'typeorm';
import { Logger, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { z } from 'zod';
import { integer, InvalidOptionsError, optionsOf, parseOptions } from '../../errors';
import {
  type TimeoutHandlerOptions,
  registeredHandler,
  type TimeoutEngine,
  DONE,
  type DueTimeout,
  LOOK_UP,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
} from '../../timeouts';
import { InvalidOrderListenerError, DuplicateOrderListenerError } from '../model/errors';
import { type OrderEvent, type OrderEventName, type OrderListeners } from './order-listeners';
import { type OrderEventType } from '../model/transition';
import { type OrderPolicies } from '../model/order-policies';

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

const listenerOptions = optionsOf({
  name: z.string('must be a text').optional(),
  concurrency: integer(1, 10_000).default(10),
  timeoutMs: integer(1_000, 598_000).default(15_000),
  maxAttempts: integer(1, 1_000).default(5),
} satisfies Record<keyof OrderListenerOptions, z.ZodType>);

/** @throws InvalidOptionsError naming every value out of range. */
export function handlerOptionsOf(listener: string, options: OrderListenerOptions): TimeoutHandlerOptions {
  return deliveryLimits(parseOptions(`the order listener ${listener}`, listenerOptions, options));
}

interface DeliveryLimits {
  readonly concurrency: number;
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

/** Start of the kinds whose timeouts are deliveries to listeners. The rest is the listener's name. */
const LISTENER_KIND = 'order-listener.';

/** A kind has at most 100 characters. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/;

/** @throws InvalidOptionsError for a listener whose name or options are not valid. */
export function registerListeners(
  found: readonly FoundListener[],
  listeners: OrderListeners,
  engine: Pick<TimeoutEngine, 'register'>,
): void {
  for (const { name, events, when, options, call } of found) {
    const types = events.map((event): OrderEventType => `order.${event}`);
    if (when === 'in-transaction') {
      listeners.join(types, call);
      continue;
    }
    if (!NAME.test(name)) throw new InvalidOptionsError('@OnOrder', [`the name "${name}" must match ${NAME.source}`]);
    const kind = `${LISTENER_KIND}${name}`;
    const handler = new OrderListenerHandler(name, call);
    engine.register([registeredHandler(kind, handler, handlerOptionsOf(name, options))]);
    listeners.subscribe(types, kind);
  }
}

type Answer = { readonly type: 'heard' } | { readonly type: 'failed'; readonly reason: string };

/** Delivers events to one listener, as look-ups: outside any transaction, under a lease. */
class OrderListenerHandler implements TimeoutHandlerBatch<Answer> {
  private readonly logger = new Logger('OrderListeners');

  constructor(
    private readonly name: string,
    private readonly call: (event: OrderEvent, delivery: OrderDelivery) => unknown,
  ) {}

  handleBatch(timeouts: readonly DueTimeout<Answer>[]): Promise<TimeoutOutcome[]> {
    return Promise.resolve(timeouts.map(({ answer }) => outcomeOf(answer)));
  }

  /** Does not reject: the engine would take the lost connection of a mail server for the database's and count nothing. */
  async lookUp({ key, payload, attempts, traceparent }: DueTimeout, signal: AbortSignal): Promise<Answer> {
    const attempt = attempts + 1;
    try {
      const event = payload as unknown as OrderEvent;
      await this.call(event, { attempt, signal, ...(traceparent === undefined ? {} : { traceparent }) });
      // It may have given up what it was doing.
      if (signal.aborted) throw new Error('the call did not end before its signal aborted');
      return { type: 'heard' };
    } catch (error) {
      const { message, stack } = error instanceof Error ? error : new Error(String(error));
      this.logger.error(`${this.name} failed for event ${key}, attempt ${attempt}: ${message}`, stack);
      return { type: 'failed', reason: message };
    }
  }
}

function outcomeOf(answer: Answer | undefined): TimeoutOutcome {
  if (answer === undefined) return LOOK_UP;
  return answer.type === 'heard' ? DONE : { type: 'retry', counted: true, reason: answer.reason };
}

interface FoundListener extends ListenerMetadata {
  readonly name: string;
  readonly call: (...given: readonly unknown[]) => unknown;
}

type Methods = Readonly<Record<string, (...given: readonly unknown[]) => unknown>>;

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Finds the methods marked with @OnOrder and @OnOrderInTransaction, in every module of the application. */
@Injectable()
export class OrderListenerExplorer {
  private readonly scanner = new MetadataScanner();

  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws DuplicateOrderListenerError, or InvalidOrderListenerError for a listener of a request-scoped provider. */
  explore(): FoundListener[] {
    const wrappers = [...this.discovery.getProviders(), ...this.discovery.getControllers()];
    const byInstance = new Map<unknown, Wrapper>();
    for (const wrapper of wrappers) {
      const instance: unknown = wrapper.instance;
      if (typeof instance === 'object' && instance !== null) byInstance.set(instance, wrapper);
    }
    const found = [...byInstance.values()].flatMap((wrapper) => this.listenersOf(wrapper));
    refuseDuplicates(found);
    return found;
  }

  private listenersOf(wrapper: Wrapper): FoundListener[] {
    const instance = wrapper.instance as object;
    const prototype = Object.getPrototypeOf(instance) as object | null;
    if (prototype === null) return [];
    return this.scanner.getAllMethodNames(prototype).flatMap((method) => {
      const call = (prototype as Methods)[method];
      const metadata = call && listenerMetadataOf(call);
      if (!metadata) return [];
      const place = `${instance.constructor.name}.${method}`;
      if (!wrapper.isDependencyTreeStatic())
        throw new InvalidOrderListenerError(place, 'belongs to a request; move it to a provider of the default scope');
      return [{ ...metadata, name: metadata.options.name ?? place, call: call.bind(instance) }];
    });
  }
}

function refuseDuplicates(found: readonly FoundListener[]): void {
  const names = new Set<string>();
  for (const { name } of found) {
    if (names.has(name)) throw new DuplicateOrderListenerError(name);
    names.add(name);
  }
}

/** Names of the listeners to placed orders, if no policy announces these. */
export function findSilentListeners(
  found: readonly Pick<FoundListener, 'name' | 'events'>[],
  policies: Pick<OrderPolicies, 'sendPlacedEvents'>,
): string[] {
  if (policies.sendPlacedEvents) return [];
  return found.flatMap(({ name, events }) => (events.includes('placed') ? [name] : []));
}

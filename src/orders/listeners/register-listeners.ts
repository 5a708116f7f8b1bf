import { Logger, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { InvalidOptionsError } from '../../errors';
import {
  registeredHandler,
  type TimeoutEngine,
  DONE,
  type DueTimeout,
  LOOK_UP,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
} from '../../timeouts';
import { type OrderEventType } from '../model/transition';
import { DuplicateOrderListenerError, InvalidOrderListenerError } from '../model/errors';
import { type OrderPolicies } from '../model/order-policies';
import { handlerOptionsOf, type OrderDelivery, type ListenerMetadata, listenerMetadataOf } from './on-order';
import { type OrderListeners, type OrderEvent } from './order-listeners';

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

/** A method that listens to orders. */
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

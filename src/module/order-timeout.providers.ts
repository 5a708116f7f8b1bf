import { type InjectionToken, type Provider } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { CLOCK, type Clock } from '../clock';
import { ownValue } from '../errors';
import { ORDER_PROVIDERS, OrderListenerExplorer, OrderListeners, ORDERS_OPTIONS, type OrdersOptions } from '../orders';
import { judgeCommand, PlaceCommand } from '../api/amqp';
import { API_KEYS, OperatorKeys, OperatorSessions, RateLimits, UnmatchedScope } from '../api/http';
import { ResilientProvider, PaymentObservers, PaymentProviders } from '../payments';
import { CommandHandlers, RabbitClient, RabbitServer } from '../rabbit';
import { isDatabaseWritable } from '../database';
import {
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  TimeoutEngine,
  TimeoutScheduler,
  type Controls,
} from '../timeouts';
import { Webhooks } from '../webhooks';
import { type ResolvedOrderTimeoutOptions, ORDER_TIMEOUT_OPTIONS } from './order-timeout-options';

/** Commands that run at once: enough to use a pool of 20 connections well and leave some free. */
const COMMAND_CONCURRENCY = 16;

/**
 * Unacknowledged commands: 1,000 may wait for a lock or for an earlier command, besides the running ones. Returning
 * them would not let others in, because a quorum queue with a delivery limit puts them back at the front.
 */
const COMMAND_PREFETCH = 1_016;

/** What is made of the options alone. */
function fromOptions(
  provide: NonNullable<InjectionToken>,
  useFactory: (options: ResolvedOrderTimeoutOptions) => unknown,
): Provider {
  return { provide, inject: [ORDER_TIMEOUT_OPTIONS], useFactory };
}

const payments: Provider = {
  provide: PaymentProviders,
  inject: [ORDER_TIMEOUT_OPTIONS, CLOCK, PaymentObservers, TimeoutEngine],
  useFactory: (
    { providers, resilience }: ResolvedOrderTimeoutOptions,
    clock: Clock,
    observers: PaymentObservers,
    { controls }: TimeoutEngine,
  ) => {
    const resilient = providers.map((one) =>
      one instanceof ResilientProvider
        ? one
        : new ResilientProvider(one, clock, ownValue(resilience, one.name), observers),
    );
    const all = new PaymentProviders(resilient);
    restrictProviders(all, controls);
    return all;
  },
};

const commands: Provider = {
  provide: RabbitServer,
  inject: [RabbitClient, DiscoveryService, RESOLVED_TIMEOUTS_OPTIONS, CLOCK],
  useFactory: (
    client: RabbitClient,
    discovery: DiscoveryService,
    { dataSource }: ResolvedTimeoutsOptions,
    clock: Clock,
  ) =>
    new RabbitServer({
      client,
      clock,
      handlers: new CommandHandlers(discovery),
      concurrency: COMMAND_CONCURRENCY,
      prefetch: COMMAND_PREFETCH,
      // CommandErrorFilter knows the failures, so commands that used them up are already rejected when they get here.
      judge: (error) => judgeCommand(error, 0),
      isReady: () => isDatabaseWritable(dataSource),
      keyOf: subjectOf,
    }),
};

const webhooks: Provider = {
  provide: Webhooks,
  inject: [ORDER_TIMEOUT_OPTIONS, OrderListeners, TimeoutEngine, TimeoutScheduler, CLOCK],
  useFactory: (
    { webhooks: options }: ResolvedOrderTimeoutOptions,
    listeners: OrderListeners,
    engine: TimeoutEngine,
    scheduler: TimeoutScheduler,
    clock: Clock,
  ) => new Webhooks({ options, listeners, engine, scheduler, clock }),
};

/** The order id or the SKU of our commands. A host's commands may have none. */
function subjectOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { orderId, id, sku } = body as Readonly<Record<string, unknown>>;
  const key = orderId ?? id ?? sku;
  return typeof key === 'string' ? key : undefined;
}

export const ORDER_TIMEOUT_PROVIDERS: Provider[] = [
  fromOptions(API_KEYS, ({ apiKeys }) => apiKeys),
  fromOptions(OperatorKeys, ({ operatorKeys }) => operatorKeys),
  fromOptions(RateLimits, ({ rateLimits }) => new RateLimits(rateLimits)),
  fromOptions(ORDERS_OPTIONS, ({ orders: policies, retention }): OrdersOptions => ({ policies, retention })),
  OperatorSessions,
  PaymentObservers,
  payments,
  ...ORDER_PROVIDERS,
  OrderListenerExplorer,
  UnmatchedScope,
  webhooks,
  PlaceCommand,
  commands,
];

/** Has the providers follow what operators pause or limit, in every process, whether it serves the operator page or not. */
function restrictProviders(providers: PaymentProviders, controls: Controls): void {
  controls.onChange(() => {
    for (const name of providers.names()) {
      const provider = providers.get(name);
      const { pause, limit } = controls.of(`provider:${name}`);
      if (provider instanceof ResilientProvider)
        provider.restrict({ paused: pause !== null, perSecond: limit?.perSecond });
    }
  });
}

import { type Provider } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { CLOCK, type Clock } from './clock';
import { ownValue } from './errors';
import { type ResolvedOrderTimeoutOptions } from './order-timeout-options';
import { ORDER_TIMEOUT_OPTIONS } from './order-timeout.module-definition';
import { ORDER_PROVIDERS, ORDERS_OPTIONS, type OrdersOptions } from './orders';
import { CommandRejectedError } from './orders/commands';
import { API_KEYS, RateLimits } from './orders/http';
import { GuardedProvider, PaymentObservers, PaymentProviders } from './payments';
import { CommandHandlers, RabbitClient, RabbitServer, type Verdict } from './rabbit';

/** Commands in hand at once: enough to keep a pool of 20 connections busy, and to leave it some. */
const COMMAND_PREFETCH = 16;

const apiKeys: Provider = {
  provide: API_KEYS,
  inject: [ORDER_TIMEOUT_OPTIONS],
  useFactory: (options: ResolvedOrderTimeoutOptions) => options.apiKeys,
};

const rateLimits: Provider = {
  provide: RateLimits,
  inject: [ORDER_TIMEOUT_OPTIONS],
  useFactory: (options: ResolvedOrderTimeoutOptions) => new RateLimits(options.rateLimits),
};

const orders: Provider = {
  provide: ORDERS_OPTIONS,
  inject: [ORDER_TIMEOUT_OPTIONS],
  useFactory: ({ orders: policies, retention }: ResolvedOrderTimeoutOptions): OrdersOptions => ({
    policies,
    retention,
  }),
};

const payments: Provider = {
  provide: PaymentProviders,
  inject: [ORDER_TIMEOUT_OPTIONS, CLOCK, PaymentObservers],
  useFactory: ({ providers, guards }: ResolvedOrderTimeoutOptions, clock: Clock, observers: PaymentObservers) =>
    new PaymentProviders(
      providers.map((one) =>
        one instanceof GuardedProvider ? one : new GuardedProvider(one, clock, ownValue(guards, one.name), observers),
      ),
    ),
};

const commands: Provider = {
  provide: RabbitServer,
  inject: [RabbitClient, DiscoveryService],
  useFactory: (client: RabbitClient, discovery: DiscoveryService) =>
    new RabbitServer({ client, handlers: new CommandHandlers(discovery), prefetch: COMMAND_PREFETCH, judge }),
};

/** CommandErrorFilter has judged with the message at hand; what it did not reject is delivered again. */
function judge(error: unknown): Verdict {
  return error instanceof CommandRejectedError ? { type: 'park', park: error.park } : { type: 'again' };
}

/** Everything OrderTimeoutModule provides itself. */
export const ORDER_TIMEOUT_PROVIDERS: Provider[] = [
  apiKeys,
  rateLimits,
  orders,
  PaymentObservers,
  payments,
  ...ORDER_PROVIDERS,
  commands,
];

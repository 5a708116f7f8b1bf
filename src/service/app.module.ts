import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { SystemClock } from '../clock';
import { type ServiceConfig } from './config';
import { DatabaseModule } from './database.module';
import { OperationsModule } from '../operations';
import { OrderTimeoutModule, type OrderTimeoutOptions } from '../module';
import { ProblemFilter } from '../api/http';
import { HttpPaymentProvider } from '../payments';
import { OWNS_DATABASE } from '../timeouts';
import { type LoadedProviders, loadPaymentProviders } from './load-payment-providers';
import { loadWebhooks } from './load-webhooks';

/** The stand-alone service: OrderTimeoutModule with a database connection, HTTP, and operations. */
@Module({})
export class AppModule {
  static forRoot(config: ServiceConfig): DynamicModule {
    return {
      module: AppModule,
      imports: [
        DatabaseModule.forRoot(config.database),
        OrderTimeoutModule.forRootAsync({
          http: true,
          contract: true,
          operator: true,
          inject: [DataSource],
          useFactory: (dataSource: DataSource) => toOptions(dataSource, config),
        }),
        OperationsModule,
      ],
      // For requests that reach no controller, such as unknown routes and bad JSON. Controllers use the filter
      // themselves.
      providers: [{ provide: APP_FILTER, useClass: ProblemFilter }],
    };
  }
}

/** What the service gives OrderTimeoutModule. */
export function toOptions(dataSource: DataSource, config: ServiceConfig): OrderTimeoutOptions {
  const { http, rateLimits, database, rabbit, transport, ladder, horizonMs, sweep, orders } = config;
  const webhooks = loadWebhooks(config);
  return {
    dataSource,
    schema: database.schema,
    rabbit,
    transport,
    ladder,
    horizonMs,
    sweep,
    orders,
    retention: config.retention,
    ...providersOf(config),
    ...(webhooks && { webhooks }),
    apiKeys: http.apiKeys,
    operatorKeys: http.operatorKeys,
    rateLimits,
    shutdownTimeoutMs: config.shutdownTimeoutMs,
    [OWNS_DATABASE]: true,
  };
}

function providersOf({ paymentProvider, paymentProvidersFile }: ServiceConfig): LoadedProviders {
  const clock = new SystemClock();
  const own = paymentProvider ? [new HttpPaymentProvider(paymentProvider, clock)] : [];
  if (paymentProvidersFile === undefined) return { providers: own, resilience: {} };
  const { providers, resilience } = loadPaymentProviders(paymentProvidersFile, clock);
  return { providers: [...own, ...providers], resilience };
}

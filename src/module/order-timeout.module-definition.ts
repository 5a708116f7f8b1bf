import { ConfigurableModuleBuilder, Module, type Provider } from '@nestjs/common';
import { type OrderTimeoutExtras, type OrderTimeoutOptions, resolveOrderTimeoutOptions } from './order-timeout-options';

/** Injection token of the options as the host gives them. */
export const RAW_ORDER_TIMEOUT_OPTIONS = Symbol('order-timeout:raw-options');

/** Injection token of ResolvedOrderTimeoutOptions. */
export const ORDER_TIMEOUT_OPTIONS = Symbol('order-timeout:options');

const resolved = (extras: OrderTimeoutExtras): Provider => ({
  provide: ORDER_TIMEOUT_OPTIONS,
  inject: [RAW_ORDER_TIMEOUT_OPTIONS],
  useFactory: (raw: OrderTimeoutOptions) => resolveOrderTimeoutOptions(raw, extras),
});

const definition = new ConfigurableModuleBuilder<OrderTimeoutOptions>({
  optionsInjectionToken: RAW_ORDER_TIMEOUT_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<OrderTimeoutExtras>(
    { isGlobal: true, http: false, contract: false, operator: false, path: '' },
    (given, extras) => ({
      ...given,
      providers: [...(given.providers ?? []), resolved(extras)],
      exports: [ORDER_TIMEOUT_OPTIONS],
    }),
  )
  .build();

/** Provides the validated options. A separate module, because TimeoutsModule is created from them. */
@Module({})
export class OrderTimeoutOptionsModule extends definition.ConfigurableModuleClass {}

/** What `OrderTimeoutModule.forRoot` takes. */
export type OrderTimeoutModuleOptions = typeof definition.OPTIONS_TYPE;
/** What `OrderTimeoutModule.forRootAsync` takes. */
export type OrderTimeoutModuleAsyncOptions = typeof definition.ASYNC_OPTIONS_TYPE;

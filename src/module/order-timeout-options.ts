import { ConfigurableModuleBuilder, Module, type Provider, type DynamicModule, type Type } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { SystemClock } from '../clock';
import {
  assertOptionsObject,
  findOptionNameProblems,
  findUnknownOptions,
  InvalidOptionsError,
  ownValue,
} from '../errors';
import {
  LIMITS,
  OrderPolicies,
  type OrderPolicyOptions,
  POLICIES,
  resolveRetention,
  type RetentionOptions,
} from '../orders';
import {
  ApiKeys,
  findApiKeyProblems,
  findOperatorKeyProblems,
  findRateLimitProblems,
  OperatorKeys,
  type RateLimitOptions,
} from '../api/http';
import { ResilientProvider, type ResilienceOptions, type PaymentProvider, PaymentProviders } from '../payments';
import { resolveTimeoutsOptions, timeoutsOptions, type TimeoutsOptions } from '../timeouts';
import { type ResolvedWebhookOptions, resolveWebhookOptions, type WebhookOptions } from '../webhooks';

/** Options of OrderTimeoutModule. */
export interface OrderTimeoutOptions extends TimeoutsOptions {
  /** Payment windows, grace periods, reminders, and payment policies; global and by merchant. */
  readonly orders?: OrderPolicyOptions;
  /** How long finished data is kept. @default orders and payments forever, idempotency keys for 30 days */
  readonly retention?: RetentionOptions;
  /** Payment providers. Each call has a time-out, a circuit breaker, and rate limits. @default [] */
  readonly providers?: readonly PaymentProvider[];
  /** Limits for calls to providers, by provider name. @default {} */
  readonly resilience?: Readonly<Record<string, ResilienceOptions>>;
  /**
   * Keys of the HTTP API, as `name:sha256hex:scope+scope[@merchant+merchant]`. Required with `http: true`. `'open'` leaves
   * access control to the host's guards.
   */
  readonly apiKeys?: readonly string[] | 'open';
  /**
   * Keys of the operator page, as `name:sha256hex:role+role[@merchant+merchant]`. Needs `operator`. @default [], closed
   */
  readonly operatorKeys?: readonly string[];
  /** Rate limits of the HTTP API. @default per second, 1000 requests per key and 20 failures per address */
  readonly rateLimits?: RateLimitOptions;
  /** Signed webhooks about orders. @default none */
  readonly webhooks?: WebhookOptions;
  /** Whether to migrate the tables at startup. @default true */
  readonly migrate?: boolean;
}

/** Options that must be known before the others, because they decide what the module consists of. */
export interface OrderTimeoutExtras {
  /** Whether the providers are injectable in every module. @default true */
  readonly isGlobal?: boolean;
  /** Whether to serve the HTTP API under /orders, /inventory, /payments, and /timeouts. @default false */
  readonly http?: boolean;
  /** Whether to serve /openapi.json, /asyncapi.json, and /docs, without a key. Needs `http`. @default false */
  readonly contract?: boolean;
  /** Whether to serve the operator page under /operator. It stays closed without `operatorKeys`. @default false */
  readonly operator?: boolean;
  /** Path in front of all routes, such as `shop/v1`. It follows the host's global prefix. @default '', for none */
  readonly path?: string;
}

type AsGiven = 'orders' | 'retention' | 'providers' | 'resilience' | 'rateLimits' | 'migrate';

export interface ResolvedOrderTimeoutOptions extends Required<Pick<OrderTimeoutOptions, AsGiven>> {
  readonly timeouts: TimeoutsOptions;
  readonly apiKeys: ApiKeys | 'open';
  readonly operatorKeys: OperatorKeys;
  readonly webhooks: ResolvedWebhookOptions | undefined;
}

const ORDER_TIMEOUT_OPTION_NAMES: readonly string[] = [
  ...Object.keys(timeoutsOptions.shape),
  ...Object.keys({
    orders: true,
    retention: true,
    providers: true,
    resilience: true,
    apiKeys: true,
    operatorKeys: true,
    rateLimits: true,
    webhooks: true,
    migrate: true,
  } satisfies Record<Exclude<keyof OrderTimeoutOptions, keyof TimeoutsOptions>, true>),
];

/** Names of the options that are given beside useFactory. */
const EXTRAS: readonly string[] = Object.keys({
  http: true,
  isGlobal: true,
  contract: true,
  operator: true,
  path: true,
} satisfies Record<keyof OrderTimeoutExtras, true>);

const RATE_LIMIT_OPTIONS = Object.keys({
  perKey: true,
  failuresPerAddress: true,
  forgeriesPerAddress: true,
} satisfies Record<keyof RateLimitOptions, true>);

const RETENTION_OPTIONS = Object.keys({
  finishedOrdersMs: true,
  idempotencyKeysMs: true,
  settledMoneyMs: true,
  intervalMs: true,
} satisfies Record<keyof RetentionOptions, true>);

/** @throws InvalidOptionsError with every invalid option. */
export function resolveOrderTimeoutOptions(
  options: OrderTimeoutOptions,
  { http = false, operator = false }: Pick<OrderTimeoutExtras, 'http' | 'operator'>,
): ResolvedOrderTimeoutOptions {
  assertOptionsObject('OrderTimeoutModule', options);
  const { orders = {}, retention = {}, providers = [], resilience = {}, apiKeys = [], ...others } = options;
  const { operatorKeys = [], rateLimits = {}, migrate = true, webhooks, ...rest } = others;
  const timeouts = onlyOf(rest, Object.keys(timeoutsOptions.shape));
  const names = providers.map(({ name }) => name);
  const problems = [
    ...findOptionNameProblems(options, ORDER_TIMEOUT_OPTION_NAMES, EXTRAS),
    ...findUnknownPolicyOptions(orders),
    ...findUnknownOptions(rateLimits, RATE_LIMIT_OPTIONS, 'rateLimits.'),
    ...problemsOf(() => resolveTimeoutsOptions(timeouts)),
    ...problemsOf(() => new OrderPolicies(orders)).map((problem) => `orders.${problem}`),
    ...findUnknownOptions(retention, RETENTION_OPTIONS, 'retention.'),
    ...problemsOf(() => resolveRetention(retention)).map((problem) => `retention.${problem}`),
    ...problemsOf(() => new PaymentProviders(providers)),
    ...names.filter((name) => !LIMITS.provider.test(name)).map(unnameable),
    ...providers.flatMap((one) =>
      problemsOf(() => new ResilientProvider(one, new SystemClock(), ownValue(resilience, one.name))),
    ),
    ...findUnknownProviders(Object.keys(resilience), names),
    ...(apiKeys === 'open' ? [] : findApiKeyProblems(apiKeys)),
    ...findOperatorKeyProblems(operatorKeys),
    ...(operatorKeys.length > 0 && !operator ? ['operatorKeys need operator: true'] : []),
    ...findRateLimitProblems(rateLimits),
    ...(webhooks ? problemsOf(() => resolveWebhookOptions(webhooks)).map((problem) => `webhooks.${problem}`) : []),
    ...(http && apiKeys.length === 0 ? ['apiKeys must name at least one key while http is true, or be "open"'] : []),
  ];
  if (problems.length > 0) throw new InvalidOptionsError('OrderTimeoutModule', problems);
  const keys = apiKeys === 'open' ? apiKeys : new ApiKeys(apiKeys);
  const given = { timeouts, orders, retention, providers, resilience, apiKeys: keys, rateLimits, migrate };
  return Object.freeze({
    ...given,
    operatorKeys: new OperatorKeys(operatorKeys),
    webhooks: webhooks && resolveWebhookOptions(webhooks),
  });
}

function unnameable(name: string): string {
  return `no attempt can name a payment provider ${JSON.stringify(name)}; the name must match ${LIMITS.provider.source}`;
}

function findUnknownProviders(given: readonly string[], names: readonly string[]): string[] {
  const unknown = given.filter((name) => !names.includes(name));
  return unknown.map(
    (name) => `resilience.${name} names no provider; the providers are: ${names.join(', ') || 'none'}`,
  );
}

function findUnknownPolicyOptions({ merchants = {}, ...base }: OrderPolicyOptions): string[] {
  const ofMerchants = Object.entries(merchants).flatMap(([id, own]) =>
    findUnknownOptions(own, POLICIES, `orders.merchants.${id}.`),
  );
  return [...findUnknownOptions(base, [...POLICIES, 'merchants'], 'orders.'), ...ofMerchants];
}

/** Drops unknown options, which the validation of each part would report again. Keeps our symbols. */
function onlyOf<T extends object>(given: T, names: readonly string[]): T {
  return Object.fromEntries(
    Reflect.ownKeys(given)
      .filter((key) => typeof key === 'symbol' || names.includes(key))
      .map((key) => [key, given[key as keyof T]]),
  ) as T;
}

/** Problems that a part reports by throwing. */
function problemsOf(check: () => unknown): readonly string[] {
  try {
    check();
    return [];
  } catch (error) {
    return InvalidOptionsError.problemsIn(error);
  }
}

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

/** Options of Nest's ConfigurableModuleAsyncOptions. */
const OF_NEST = ['imports', 'inject', 'useFactory', 'useClass', 'useExisting', 'provideInjectionTokensFrom'];

/** @throws InvalidOptionsError for options that forRootAsync does not read. */
export function assertBesideFactory(given: object): void {
  const names = Object.keys(given);
  const misplaced = names.filter((name) => ORDER_TIMEOUT_OPTION_NAMES.includes(name));
  const known = [...EXTRAS, ...OF_NEST];
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !misplaced.includes(name)));
  const problems = [
    ...misplaced.map((name) => `"${name}" must be returned by useFactory, not given beside it`),
    ...findUnknownOptions(others, known),
  ];
  if (problems.length > 0) throw new InvalidOptionsError('OrderTimeoutModule.forRootAsync', problems);
}

/** One or more segments. Parameters and wildcards are left out: our handlers would not read them. */
const PATH = /^\/?[\w.~-]+(\/[\w.~-]+)*\/?$/;

/**
 * What `module` has to import for its routes to begin with `path`.
 *
 * @throws InvalidOptionsError if `path` is not a path, or if there are no routes.
 */
export function routePrefix(
  module: Type,
  { path = '', http = false, operator = false }: OrderTimeoutExtras,
): DynamicModule[] {
  if (path === '') return [];
  const problems = [
    ...(PATH.test(path) ? [] : [`path must be segments such as "shop/v1", not ${JSON.stringify(path)}`]),
    ...(http || operator
      ? []
      : ['path needs http: true or operator: true, because the module has no routes without them']),
  ];
  if (problems.length > 0) throw new InvalidOptionsError('OrderTimeoutModule', problems);
  return [RouterModule.register([{ path, module }])];
}

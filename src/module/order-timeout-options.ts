import { ConfigurableModuleBuilder, Module, type Provider, type DynamicModule, type Type } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { SystemClock } from '../clock';
import { z } from 'zod';
import {
  assertOptionsObject,
  InvalidOptionsError,
  optionsOf,
  ownValue,
  readOptions,
  recordOf,
  withoutUndefined,
} from '../errors';
import {
  LIMITS,
  type OrderPolicyOptions,
  orderPolicyOptions,
  type RetentionOptions,
  retentionOptions,
} from '../orders';
import {
  ApiKeys,
  findApiKeyProblems,
  findOperatorKeyProblems,
  OperatorKeys,
  type RateLimitOptions,
  rateLimitOptions,
} from '../api/http';
import { ResilientProvider, type ResilienceOptions, type PaymentProvider, PaymentProviders } from '../payments';
import { asUsed, findConflicts, timeoutsOptions, type TimeoutsOptions } from '../timeouts';
import { type ResolvedWebhookOptions, type WebhookOptions, webhookOptions } from '../webhooks';

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

const names = z.array(z.string('must be a text'), 'must be a list');

const NO_PROVIDER = 'must be a payment provider: an object with a name, and the methods query, close, and refund';

/** Hosts write `url && { … }`. */
const orNothing = <S extends z.ZodType>(schema: S): z.ZodType<z.output<S> | undefined> =>
  z.preprocess((given) => given || undefined, schema.optional());

const moduleOptions = optionsOf({
  ...timeoutsOptions.shape,
  orders: orderPolicyOptions.optional(),
  retention: retentionOptions.optional(),
  providers: z.array(z.custom<PaymentProvider>(isProvider, NO_PROVIDER), 'must be a list').optional(),
  resilience: recordOf(orNothing(z.looseObject({}, 'must be an object'))).optional(),
  apiKeys: z.union([z.literal('open'), names], 'must be a list, or "open"').optional(),
  operatorKeys: names.optional(),
  rateLimits: rateLimitOptions.optional(),
  webhooks: orNothing(webhookOptions),
  migrate: z.boolean('must be true or false').optional(),
} satisfies Record<Exclude<keyof OrderTimeoutOptions, symbol>, z.ZodType>);

const ORDER_TIMEOUT_OPTION_NAMES = Object.keys(moduleOptions.shape);

/** Names of the options that are given beside useFactory. */
const EXTRAS: readonly string[] = Object.keys({
  http: true,
  isGlobal: true,
  contract: true,
  operator: true,
  path: true,
} satisfies Record<keyof OrderTimeoutExtras, true>);

/** @throws InvalidOptionsError with every invalid option. */
export function resolveOrderTimeoutOptions(
  options: OrderTimeoutOptions,
  extras: Pick<OrderTimeoutExtras, 'http' | 'operator'>,
): ResolvedOrderTimeoutOptions {
  assertOptionsObject('OrderTimeoutModule', options);
  const { data, problems } = readOptions(moduleOptions, asUsed(options), EXTRAS);
  const all = [
    ...problems,
    ...findConflicts(options),
    ...findProviderProblems(options),
    ...findKeyProblems(options, extras),
  ];
  if (!data || all.length > 0) throw new InvalidOptionsError('OrderTimeoutModule', all);
  const { orders = {}, retention = {}, providers = [], resilience: limits, rateLimits = {}, ...others } = options;
  const resilience = limitsOf(limits);
  const { apiKeys = [], operatorKeys = [], webhooks, migrate = true, ...timeouts } = others;
  return Object.freeze({
    ...{ timeouts, orders, retention, providers, resilience, rateLimits, migrate },
    apiKeys: apiKeys === 'open' ? apiKeys : new ApiKeys(apiKeys),
    operatorKeys: new OperatorKeys(operatorKeys),
    webhooks: webhooks && data.webhooks,
  });
}

function findProviderProblems({ providers: given, resilience: limits }: OrderTimeoutOptions): string[] {
  const providers = listOf(given).filter(isProvider);
  const resilience = limitsOf(limits);
  const known = providers.map(({ name }) => name);
  const isGiven = providers.length === listOf(given).length;
  const unknown = isGiven ? Object.keys(resilience).filter((name) => !known.includes(name)) : [];
  return [
    ...problemsOf(() => new PaymentProviders(providers)),
    ...known
      .filter((name) => !LIMITS.provider.test(name))
      .map(
        (name) =>
          `no attempt can name a payment provider ${JSON.stringify(name)}; the name must match ${LIMITS.provider.source}`,
      ),
    ...providers.flatMap((one) =>
      problemsOf(() => new ResilientProvider(one, new SystemClock(), ownValue(resilience, one.name))),
    ),
    ...unknown.map((name) => `resilience.${name} names no provider; the providers are: ${known.join(', ') || 'none'}`),
  ];
}

/** What the schema takes. It reports the rest. */
function limitsOf(given: OrderTimeoutOptions['resilience']): Record<string, ResilienceOptions> {
  const isLimits = ([, limits]: [string, unknown]): boolean => typeof limits === 'object' && limits !== null;
  return Object.fromEntries(Object.entries(given ?? {}).filter(isLimits));
}

/** Not a class, which has a name, too, nor the promise of a provider. */
function isProvider(given: unknown): given is PaymentProvider {
  const { name, query, close, refund } = (given ?? {}) as Partial<PaymentProvider>;
  return typeof name === 'string' && [query, close, refund].every((method) => typeof method === 'function');
}

function findKeyProblems(
  { apiKeys = [], operatorKeys }: OrderTimeoutOptions,
  { http = false, operator = false }: Pick<OrderTimeoutExtras, 'http' | 'operator'>,
): string[] {
  const operators = listOf(operatorKeys).filter(isText);
  return [
    ...findApiKeyProblems(apiKeys === 'open' ? [] : listOf(apiKeys).filter(isText)),
    ...findOperatorKeyProblems(operators),
    ...(operators.length > 0 && !operator ? ['operatorKeys need operator: true'] : []),
    ...(http && apiKeys !== 'open' && listOf(apiKeys).length === 0
      ? ['apiKeys must name at least one key while http is true, or be "open"']
      : []),
  ];
}

const isText = (given: unknown): boolean => typeof given === 'string';

/** Nothing if it is no list, which the schema reports. */
const listOf = <T>(given: readonly T[] | undefined): readonly T[] =>
  Array.isArray(given) ? (given as readonly T[]) : [];

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

const besideFactory = optionsOf(
  Object.fromEntries([...EXTRAS, ...OF_NEST].map((name) => [name, z.unknown().optional()])),
);

/** @throws InvalidOptionsError for options that forRootAsync does not read. */
export function assertBesideFactory(given: object): void {
  const misplaced = Object.keys(given).filter((name) => ORDER_TIMEOUT_OPTION_NAMES.includes(name));
  const others = Object.entries(given).filter(([name]) => !misplaced.includes(name));
  const problems = [
    ...misplaced.map((name) => `"${name}" must be returned by useFactory, not given beside it`),
    ...readOptions(besideFactory, withoutUndefined(Object.fromEntries(others))).problems,
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

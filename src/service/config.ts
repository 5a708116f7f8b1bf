import { type z } from 'zod';
import { configSchema, policySchema } from './config-schema';
import { type DelayTransportSetting, findLadderProblems } from '../delay';
import { InvalidOptionsError, withoutUndefined } from '../errors';
import { type LogLevel } from '../operations';
import { OrderPolicies, type OrderPolicyOptions, type RetentionOptions } from '../orders';
import { type RateLimitOptions } from '../api/http';
import { type QueueType } from '../rabbit';
import { type TrustedProxies } from './read-trusted-proxies';

interface BrokerConfig {
  readonly urls: readonly string[];
  readonly prefix: string;
  readonly replyPrefixes: readonly string[];
  readonly queueType: QueueType;
}

/** The configuration of the service; see docs/configuration.md. */
export interface ServiceConfig {
  readonly http: {
    readonly port: number;
    readonly host: string;
    readonly apiKeys: readonly string[];
    /** Empty: the operator page is closed. */
    readonly operatorKeys: readonly string[];
    /** Proxies whose `X-Forwarded-For` is trusted; undefined: none. */
    readonly trustProxy?: TrustedProxies | undefined;
  };
  readonly rateLimits: Required<RateLimitOptions>;
  readonly database: {
    readonly url: string;
    readonly poolSize: number;
    readonly schema: string;
    /** Whether statements are prepared, once per connection. */
    readonly prepares: boolean;
  };
  /** Undefined: there is no broker. */
  readonly rabbit: BrokerConfig | undefined;
  readonly transport: DelayTransportSetting;
  readonly ladder: { readonly base?: number; readonly unitMs?: number };
  readonly horizonMs: number;
  readonly sweep: { readonly intervalMs: number; readonly marginMs: number };
  readonly orders: OrderPolicyOptions;
  readonly retention: RetentionOptions;
  readonly paymentProvider: { readonly name: string; readonly baseUrl: string; readonly secret: string } | undefined;
  /** Path of a JSON file; see loadPaymentProviders. */
  readonly paymentProvidersFile: string | undefined;
  /** The endpoint of the environment. */
  readonly webhook: { readonly url: string; readonly secrets: readonly string[] } | undefined;
  /** Path of a JSON file; see loadWebhooks. */
  readonly webhooksFile: string | undefined;
  readonly logLevel: LogLevel;
  readonly shutdownTimeoutMs: number;
}

/** For example `process.env`. An empty value counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

type Settings = z.output<typeof configSchema>;

/**
 * Pure: reads the configuration from the environment.
 *
 * @throws InvalidOptionsError with every invalid variable, without the values of those that hold secrets.
 */
export function loadConfig(environment: Environment): ServiceConfig {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const settings = configSchema.safeParse(given);
  const policies = policySchema.safeParse(given);
  const orders = policies.data && toPolicies(policies.data);
  const problems = [
    ...sentences(settings.error),
    ...sentences(policies.error),
    ...(orders ? policyProblems(orders) : []),
    ...(settings.data ? problemsAcross(settings.data) : []),
  ];
  if (problems.length > 0 || !settings.data || !orders) throw new InvalidOptionsError('environment', problems);
  return Object.freeze(toConfig(settings.data, orders));
}

function sentences(error: z.ZodError | undefined): string[] {
  return (error?.issues ?? []).map(({ path, message }) => `${path.map(String).join('.')} ${message}`);
}

function policyProblems(orders: OrderPolicyOptions): readonly string[] {
  try {
    new OrderPolicies(orders);
    return [];
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems.map((problem) => `order policies: ${problem}`);
    throw error;
  }
}

function problemsAcross(settings: Settings): string[] {
  const ladder = findLadderProblems({ ...ladderOf(settings), horizonMs: settings.HORIZON_MS });
  const { RABBITMQ_URLS: urls, DELAY_TRANSPORT: transport } = settings;
  const needsBroker = urls.length === 0 && transport !== 'auto' && transport !== 'none';
  const pairs = [
    ['HTTP_PAYMENT_PROVIDER_URL', 'HTTP_PAYMENT_PROVIDER_SECRET'],
    ['WEBHOOK_URL', 'WEBHOOK_SECRETS'],
  ] as const;
  const halves = pairs.filter(([one, other]) => (settings[one] === undefined) !== (settings[other] === undefined));
  return [
    ...ladder.map((problem) => `ladder: ${problem}`),
    ...(needsBroker ? [`DELAY_TRANSPORT ${transport} needs a broker, but RABBITMQ_URLS is "none"`] : []),
    ...halves.map(([one, other]) => `${one} and ${other} must be set together`),
    ...findPublishedSecrets(settings),
  ];
}

/** What docker-compose.yml has until others are set: the SHA-256 of "local-key", and passwords in URLs. */
const PUBLISHED = [
  ['API_KEYS', 'dba73d3fcb67907054ce8317378a14b30da1b86b75803e9ba66f18efd9bef09e', 'set API_KEYS to keys of your own'],
  ['DATABASE_URL', ':local-postgres@', 'set OT_POSTGRES_PASSWORD (docs/docker.md says how to change it later)'],
  ['RABBITMQ_URLS', ':local-service@', 'set OT_SERVICE_PASSWORD'],
] as const;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;

/** Anybody knows these. A container cannot see where its port is published, so it is told. */
function findPublishedSecrets(settings: Settings): string[] {
  const address = settings.PUBLISHED_ADDRESS ?? settings.HOST;
  if (LOOPBACK.test(address)) return [];
  const found = PUBLISHED.filter(([name, secret]) => String(settings[name]).includes(secret));
  return found.map(
    ([name, , remedy]) =>
      `${name} has the default of docker-compose.yml, which everybody knows, and the service is reached on ${address}; ` +
      remedy,
  );
}

function toPolicies(settings: z.output<typeof policySchema>): OrderPolicyOptions {
  const { PAYMENT_WINDOW_MS, GRACE_MS, REMINDER_OFFSETS_MS, MERCHANT_POLICIES } = settings;
  const { LATE_PAYMENT, SURPLUS_PAYMENT, OVERPAYMENT, PARTIAL_PAYMENT, LATE_WATCH_OFFSETS_MS } = settings;
  const { MAX_PAYMENT_ATTEMPTS, UNKNOWN_PROVIDERS, PLACED_EVENTS } = settings;
  return withoutUndefined({
    paymentWindowMs: PAYMENT_WINDOW_MS,
    graceMs: GRACE_MS,
    reminderOffsetsMs: REMINDER_OFFSETS_MS,
    latePayment: LATE_PAYMENT,
    surplusPayment: SURPLUS_PAYMENT,
    overpayment: OVERPAYMENT,
    partialPayment: PARTIAL_PAYMENT,
    lateWatchOffsetsMs: LATE_WATCH_OFFSETS_MS,
    maxAttempts: MAX_PAYMENT_ATTEMPTS,
    unknownProviders: UNKNOWN_PROVIDERS,
    placedEvents: PLACED_EVENTS,
    merchants: MERCHANT_POLICIES,
    // zod's type of an optional key allows undefined, but JSON has none.
  }) as OrderPolicyOptions;
}

function ladderOf({ LADDER_BASE, LADDER_UNIT_MS }: Settings): ServiceConfig['ladder'] {
  return withoutUndefined({ base: LADDER_BASE, unitMs: LADDER_UNIT_MS });
}

function retentionOf(settings: Settings): RetentionOptions {
  return withoutUndefined({
    finishedOrdersMs: settings.RETENTION_FINISHED_ORDERS_MS,
    idempotencyKeysMs: settings.RETENTION_IDEMPOTENCY_KEYS_MS,
    settledMoneyMs: settings.RETENTION_SETTLED_MONEY_MS,
    intervalMs: settings.RETENTION_INTERVAL_MS,
  });
}

function brokerOf(settings: Settings): BrokerConfig | undefined {
  const { RABBITMQ_URLS: urls, RABBITMQ_PREFIX: prefix, RABBITMQ_QUEUE_TYPE: queueType } = settings;
  const replyPrefixes = settings.RABBITMQ_REPLY_PREFIXES;
  return urls.length > 0 ? { urls, prefix, replyPrefixes, queueType } : undefined;
}

function toConfig(settings: Settings, orders: OrderPolicyOptions): ServiceConfig {
  const { HTTP_PAYMENT_PROVIDER_URL: baseUrl, HTTP_PAYMENT_PROVIDER_SECRET: secret } = settings;
  const { WEBHOOK_URL: url, WEBHOOK_SECRETS: secrets } = settings;
  return {
    http: {
      port: settings.PORT,
      host: settings.HOST,
      apiKeys: settings.API_KEYS,
      operatorKeys: settings.OPERATOR_KEYS,
      trustProxy: settings.TRUST_PROXY,
    },
    rateLimits: {
      perKey: settings.RATE_LIMIT_PER_SECOND,
      failuresPerAddress: settings.RATE_LIMIT_FAILURES_PER_SECOND,
      forgeriesPerAddress: settings.RATE_LIMIT_FORGERIES_PER_SECOND,
    },
    database: {
      url: settings.DATABASE_URL,
      poolSize: settings.DATABASE_POOL_SIZE,
      schema: settings.DATABASE_SCHEMA,
      prepares: settings.DATABASE_PREPARED_STATEMENTS === 'on',
    },
    rabbit: brokerOf(settings),
    transport: settings.DELAY_TRANSPORT,
    ladder: ladderOf(settings),
    horizonMs: settings.HORIZON_MS,
    sweep: { intervalMs: settings.SWEEP_INTERVAL_MS, marginMs: settings.SWEEP_MARGIN_MS },
    orders,
    retention: retentionOf(settings),
    paymentProvider: baseUrl && secret ? { name: settings.HTTP_PAYMENT_PROVIDER_NAME, baseUrl, secret } : undefined,
    paymentProvidersFile: settings.PAYMENT_PROVIDERS_FILE,
    webhook: url && secrets ? { url, secrets } : undefined,
    webhooksFile: settings.WEBHOOKS_FILE,
    logLevel: settings.LOG_LEVEL,
    shutdownTimeoutMs: settings.SHUTDOWN_TIMEOUT_MS,
  };
}

import { z } from 'zod';
import { isIP } from 'node:net';
import { type DelayTransportSetting, findHorizonProblem } from '../delay';
import { InvalidOptionsError, withoutUndefined } from '../errors';
import { type LogLevel, LOG_LEVELS } from '../operations';
import { OrderPolicies, type OrderPolicyOptions, type RetentionOptions, LIMITS, POLICY_WORDS } from '../orders';
import { type RateLimitOptions, findApiKeyProblems, findOperatorKeyProblems } from '../api/http';
import { DEFAULT_PREFIX, type ResolvedRabbitOptions } from '../rabbit';
import { schemaName, serverUrl } from '../database';

type BrokerConfig = Pick<ResolvedRabbitOptions, 'urls' | 'prefix' | 'replyPrefixes' | 'queueType'>;

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
  const horizon = findHorizonProblem(settings.HORIZON_MS, settings.LADDER_UNIT_MS ?? 0);
  const { RABBITMQ_URLS: urls, DELAY_TRANSPORT: transport } = settings;
  const needsBroker = urls.length === 0 && transport !== 'auto' && transport !== 'none';
  const pairs = [
    ['HTTP_PAYMENT_PROVIDER_URL', 'HTTP_PAYMENT_PROVIDER_SECRET'],
    ['WEBHOOK_URL', 'WEBHOOK_SECRETS'],
  ] as const;
  const halves = pairs.filter(([one, other]) => (settings[one] === undefined) !== (settings[other] === undefined));
  return [
    ...(horizon === undefined ? [] : [`HORIZON_MS ${horizon}`]),
    ...(needsBroker ? [`DELAY_TRANSPORT ${transport} needs a broker, but RABBITMQ_URLS is "none"`] : []),
    ...halves.map(([one, other]) => `${one} and ${other} must be set together`),
    ...findPublishedSecrets(settings),
  ];
}

/** What docker-compose.yml has until others are set: the SHA-256 of "local-key", and passwords in URLs. */
const PUBLISHED = [
  ['API_KEYS', /dba73d3fcb67907054ce8317378a14b30da1b86b75803e9ba66f18efd9bef09e/i, 'set API_KEYS to keys of your own'],
  ['DATABASE_URL', /:local-postgres@/, 'set OT_POSTGRES_PASSWORD (docs/docker.md says how to change it later)'],
  ['RABBITMQ_URLS', /:local-service@/, 'set OT_SERVICE_PASSWORD'],
  ['RABBITMQ_URLS', /:local-(admin|sender|listener)@/, 'set a password of your own (docs/docker.md, "Passwords")'],
] as const;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;

/** Anybody knows these. A container cannot see where its port is published, so it is told. */
function findPublishedSecrets(settings: Settings): string[] {
  const address = settings.PUBLISHED_ADDRESS ?? settings.HOST;
  if (LOOPBACK.test(address)) return [];
  const found = PUBLISHED.filter(([name, secret]) => secret.test(unescaped(String(settings[name]))));
  return found.map(
    ([name, , remedy]) =>
      `${name} has the default of docker-compose.yml, which everybody knows, and the service is reached on ${address}; ` +
      remedy,
  );
}

/** A password of a URL may be written with escapes. Those of the published ones are ASCII, and others may be broken. */
function unescaped(text: string): string {
  return text.replace(/%[\da-f]{2}/gi, (escape) => String.fromCharCode(parseInt(escape.slice(1), 16)));
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

const DAY_MS = 86_400_000;

const MAX_RETENTION_MS = 36_500 * DAY_MS;

function integer(min: number, max: number) {
  const error = `must be an integer from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, { error, abort: true })
    .transform(Number)
    .pipe(z.int().min(min, error).max(max, error));
}

const retention = integer(0, MAX_RETENTION_MS).refine((ms) => ms === 0 || ms >= DAY_MS, {
  error: `must be 0 (keep forever), or at least ${DAY_MS} (a day)`,
});

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);

const integers = list.pipe(z.array(integer(0, LIMITS.windowMs)));

const oneOf = <T extends string>(values: readonly T[]) => z.enum(values, `must be one of ${values.join(', ')}`);

/** The message must not contain the URL, which holds the password. */
const url = (protocol: RegExp, kind: string) => z.url({ protocol, error: `must be ${kind}` });

const amqpUrl = url(/^amqps?$/, 'an amqp:// or amqps:// URL');

/** None if the text is "none". A missing variable does not mean that: events would be dropped because of a typo. */
const brokerUrls = list
  .pipe(z.array(z.string()).min(1, 'must name at least one URL, or be "none"'))
  .transform((urls) => (urls.join() === 'none' ? [] : urls))
  .pipe(z.array(amqpUrl));

const required = { error: 'must be set' };

const policy = z.strictObject({
  paymentWindowMs: z.number().optional(),
  graceMs: z.number().optional(),
  graceMsByProvider: z.record(z.string(), z.number()).optional(),
  reminderOffsetsMs: z.array(z.number()).optional(),
  minPaymentWindowMs: z.number().optional(),
  maxPaymentWindowMs: z.number().optional(),
  latePayment: z.string().optional(),
  surplusPayment: z.string().optional(),
  overpayment: z.string().optional(),
  partialPayment: z.string().optional(),
  lateWatchOffsetsMs: z.array(z.number()).optional(),
  maxAttempts: z.number().optional(),
  unknownProviders: z.string().optional(),
  placedEvents: z.string().optional(),
});

const policies = z
  .string()
  .transform((text, context) => {
    try {
      return parseConfigJson(text);
    } catch (error) {
      const noJson = 'must be JSON, for example {"shop-1":{"paymentWindowMs":900000}}';
      context.addIssue({ code: 'custom', message: error instanceof ReservedNameError ? error.message : noJson });
      return z.NEVER;
    }
  })
  .pipe(z.record(z.string(), policy));

const NAMES = ['loopback', 'linklocal', 'uniquelocal'];

const WANTED =
  'must be the number of proxies in front of the service (1 to 99), or their addresses, comma-separated: IP addresses, ' +
  `networks such as 10.0.0.0/8, ${NAMES.join(', ')}`;

/** The environment without the order policies, which policySchema validates. */
export const configSchema = z.object({
  PORT: integer(0, 65_535).default(3_000),
  HOST: z.string().default('0.0.0.0'),
  PUBLISHED_ADDRESS: z.string().optional(),
  TRUST_PROXY: z.string().transform(readTrustedProxies).optional(),
  OPERATOR_KEYS: list.superRefine(checkOperatorKeys).default([]),
  API_KEYS: z.string(required).pipe(list).superRefine(checkApiKeys),
  RATE_LIMIT_PER_SECOND: integer(0, 1_000_000).default(1_000),
  RATE_LIMIT_FAILURES_PER_SECOND: integer(0, 1_000_000).default(20),
  RATE_LIMIT_FORGERIES_PER_SECOND: integer(0, 1_000_000).default(20),
  DATABASE_URL: z.string(required).pipe(serverUrl),
  DATABASE_POOL_SIZE: integer(2, 1_000).default(20),
  DATABASE_PREPARED_STATEMENTS: oneOf(['on', 'off']).default('on'),
  DATABASE_SCHEMA: schemaName.default('order_timeout'),
  RABBITMQ_URLS: z.string({ error: 'must be set; "none" means that there is no broker' }).pipe(brokerUrls),
  RABBITMQ_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'must be letters, digits, ".", "_" or "-"')
    .default(DEFAULT_PREFIX),
  RABBITMQ_REPLY_PREFIXES: list.default([]),
  RABBITMQ_QUEUE_TYPE: oneOf(['quorum', 'classic']).default('quorum'),
  DELAY_TRANSPORT: oneOf(['auto', 'delayed-exchange', 'ladder', 'none']).default('auto'),
  LADDER_BASE: integer(2, 100).optional(),
  LADDER_UNIT_MS: integer(1, DAY_MS).optional(),
  HORIZON_MS: integer(1_000, 30 * DAY_MS).default(DAY_MS),
  SWEEP_INTERVAL_MS: integer(100, DAY_MS).default(2_000),
  SWEEP_MARGIN_MS: integer(0, DAY_MS).default(3_000),
  RETENTION_FINISHED_ORDERS_MS: retention.optional(),
  RETENTION_IDEMPOTENCY_KEYS_MS: retention.optional(),
  RETENTION_SETTLED_MONEY_MS: retention.optional(),
  RETENTION_INTERVAL_MS: integer(1_000, DAY_MS).optional(),
  HTTP_PAYMENT_PROVIDER_NAME: z
    .string()
    .regex(LIMITS.provider, 'must be 1 to 64 letters, digits, ".", "_" or "-"')
    .default('http'),
  HTTP_PAYMENT_PROVIDER_URL: url(/^https?$/, 'an http:// or https:// URL').optional(),
  HTTP_PAYMENT_PROVIDER_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  PAYMENT_PROVIDERS_FILE: z.string().optional(),
  WEBHOOK_URL: url(/^https$/, 'an https:// URL').optional(),
  WEBHOOK_SECRETS: list.optional(),
  WEBHOOKS_FILE: z.string().optional(),
  LOG_LEVEL: oneOf(LOG_LEVELS).default('info'),
  SHUTDOWN_TIMEOUT_MS: integer(0, 600_000).default(10_000),
});

/** JSON in the configuration has a name that the schemas would drop. */
class ReservedNameError extends Error {
  constructor() {
    super('must not use "__proto__" as a name');
  }
}

export const policySchema = z.object({
  PAYMENT_WINDOW_MS: integer(0, LIMITS.windowMs).optional(),
  GRACE_MS: integer(0, LIMITS.graceMs).optional(),
  REMINDER_OFFSETS_MS: integers.optional(),
  LATE_PAYMENT: oneOf(POLICY_WORDS.latePayment).optional(),
  SURPLUS_PAYMENT: oneOf(POLICY_WORDS.surplusPayment).optional(),
  OVERPAYMENT: oneOf(POLICY_WORDS.overpayment).optional(),
  PARTIAL_PAYMENT: oneOf(POLICY_WORDS.partialPayment).optional(),
  LATE_WATCH_OFFSETS_MS: integers.optional(),
  MAX_PAYMENT_ATTEMPTS: integer(1, 1_000).optional(),
  UNKNOWN_PROVIDERS: oneOf(POLICY_WORDS.unknownProviders).optional(),
  PLACED_EVENTS: oneOf(POLICY_WORDS.placedEvents).optional(),
  MERCHANT_POLICIES: policies.optional(),
});

function checkApiKeys(keys: readonly string[], context: z.RefinementCtx): void {
  const problems = keys.length === 0 ? ['must name at least one key'] : findApiKeyProblems(keys);
  for (const message of problems) context.addIssue({ code: 'custom', message });
}

function checkOperatorKeys(keys: readonly string[], context: z.RefinementCtx): void {
  for (const message of findOperatorKeyProblems(keys)) context.addIssue({ code: 'custom', message });
}

/**
 * Parses JSON whose objects have names that people choose, such as merchants. The schemas silently drop `__proto__`, so
 * it is rejected here.
 *
 * @throws SyntaxError if the text is not JSON; its message quotes the text.
 * @throws ReservedNameError
 */
export function parseConfigJson(text: string): unknown {
  return JSON.parse(text, (name, value: unknown) => {
    if (name === '__proto__') throw new ReservedNameError();
    return value;
  });
}

/** The number of proxies in front of the service, or their addresses, as Express's `trust proxy` takes them. */
type TrustedProxies = number | readonly string[];

/** Parses "2" or "loopback, 10.0.0.0/8". For `z.transform`. */
function readTrustedProxies(text: string, context: z.RefinementCtx): TrustedProxies {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  const proxies = text.split(',').map((part) => part.trim());
  if (proxies.every(isProxy)) return proxies;
  const isBoolean = text.trim().toLowerCase() === 'true';
  const why = isBoolean ? '; "true" would trust every address that a client claims' : '';
  context.addIssue({ code: 'custom', message: `${WANTED}${why}` });
  return z.NEVER;
}

function isProxy(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (NAMES.includes(text)) return true;
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  // A network of zero bits would be every address.
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

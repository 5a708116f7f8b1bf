import { z } from 'zod';
import { isIP } from 'node:net';
import { findHorizonProblem } from '../delay';
import { integer, InvalidOptionsError, oneOf, readOptions } from '../errors';
import { LOG_LEVELS } from '../operations';
import { LIMITS, orderPolicyOptions, retentionOptions } from '../orders';
import { findApiKeyProblems, findOperatorKeyProblems, rateLimitOptions } from '../api/http';
import { rabbitOptions } from '../rabbit';
import { poolSize, schemaName, serverUrl } from '../database';
import { timeoutsOptions } from '../timeouts';
import { webhookSecret } from '../webhooks';

/** For example `process.env`. An empty value counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration of the service; see docs/configuration.md. */
export type ServiceConfig = Readonly<z.output<typeof configSchema>>;

/**
 * Pure: reads the configuration from the environment.
 *
 * @throws InvalidOptionsError with every invalid variable, without the values of those that hold secrets.
 */
export function loadConfig(environment: Environment): ServiceConfig {
  const { given, problems: unread } = place(environment);
  const { data, problems } = readOptions(configSchema, given, [], variableOf);
  const isSaid = (problem: string): boolean => unread.some((said) => said.split(' ')[0] === problem.split(' ')[0]);
  const all = [...unread, ...problems.filter((problem) => !isSaid(problem)), ...findConflicts(environment)];
  if (all.length > 0 || !data) throw new InvalidOptionsError('environment', all);
  return Object.freeze(data);
}

/** Puts what the variables say where it belongs. */
function place(environment: Environment): { readonly given: object; readonly problems: readonly string[] } {
  const groups = Object.values(VARIABLES).flatMap(([path]) => (path.includes('.') ? [path.replace(/\..*/, '')] : []));
  const given: Record<string, unknown> = Object.fromEntries(groups.map((group) => [group, {}]));
  const problems: string[] = [];
  for (const [name, [path, read]] of Object.entries(VARIABLES)) {
    const text = environment[name];
    if (text === undefined || text === '') continue;
    const value = read(text);
    const [group = '', key] = path.split('.');
    if (value instanceof Error) problems.push(`${name} ${value.message}`);
    else given[group] = key === undefined ? value : { ...(given[group] as object), [key]: value };
  }
  return { given, problems };
}

/** The variable that a part of the configuration comes from, with what is within its value. */
function variableOf(path: readonly string[]): string {
  const found = Object.entries(VARIABLES).find(([, [at]]) => `${path.join('.')}.`.startsWith(`${at}.`));
  return found ? [found[0], ...path.slice(found[1][0].split('.').length)].join('.') : path.join('.');
}

/** What is wrong with variables together, however wrong each of them is. */
function findConflicts(environment: Environment): string[] {
  const { RABBITMQ_URLS: urls = '', DELAY_TRANSPORT: transport = '', HORIZON_MS, LADDER_UNIT_MS } = environment;
  const horizon = findHorizonProblem(Number(HORIZON_MS || Infinity), Number(LADDER_UNIT_MS));
  const needsBroker = transport === 'ladder' || transport === 'delayed-exchange';
  const pairs = [
    ['HTTP_PAYMENT_PROVIDER_URL', 'HTTP_PAYMENT_PROVIDER_SECRET'],
    ['WEBHOOK_URL', 'WEBHOOK_SECRETS'],
  ] as const;
  const halves = pairs.filter(([one, other]) => Boolean(environment[one]) !== Boolean(environment[other]));
  return [
    ...(horizon === undefined ? [] : [`HORIZON_MS ${horizon}`]),
    ...(needsBroker && list(urls).join() === 'none'
      ? [`DELAY_TRANSPORT ${transport} needs a broker, but RABBITMQ_URLS is "none"`]
      : []),
    ...halves.map(([one, other]) => `${one} and ${other} must be set together`),
    ...findPublishedSecrets(environment),
  ];
}

/** The SHA-256 of "local-key". */
const LOCAL_KEY = /dba73d3fcb67907054ce8317378a14b30da1b86b75803e9ba66f18efd9bef09e/i;

/** What docker-compose.yml has until others are set, wherever it stands. */
const PUBLISHED = [
  ['API_KEYS', LOCAL_KEY, 'set API_KEYS to keys of your own'],
  ['OPERATOR_KEYS', LOCAL_KEY, 'set OPERATOR_KEYS to keys of your own'],
  ['DATABASE_URL', /:local-postgres@/, 'set OT_POSTGRES_PASSWORD (docs/docker.md says how to change it later)'],
  ['RABBITMQ_URLS', /:local-service@/, 'set OT_SERVICE_PASSWORD'],
  ['RABBITMQ_URLS', /:local-(admin|sender|listener)@/, 'set a password of your own (docs/docker.md, "Passwords")'],
] as const;

const DEFAULT_HOST = '0.0.0.0';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;

/** Anybody knows these. A container cannot see where its port is published, so it is told. */
function findPublishedSecrets(environment: Environment): string[] {
  const address = environment['PUBLISHED_ADDRESS'] || environment['HOST'] || DEFAULT_HOST;
  if (LOOPBACK.test(address)) return [];
  const found = PUBLISHED.filter(([name, secret]) => secret.test(unescaped(environment[name] ?? '')));
  return found.map(
    ([name, , remedy]) =>
      `${name} has a key or password of docker-compose.yml, which everybody knows, and the service is reached on ${address}; ` +
      remedy,
  );
}

/** A password of a URL may be written with escapes. Those of the published ones are ASCII, and others may be broken. */
function unescaped(text: string): string {
  return text.replace(/%[\da-f]{2}/gi, (escape) => String.fromCharCode(parseInt(escape.slice(1), 16)));
}

type Read = (text: string) => unknown;

const text: Read = (given) => given;

/** Other text stays as it is, for the message. */
const number: Read = (given) => (/^\d{1,15}$/.test(given) ? Number(given) : given);

const list = (given: string): string[] =>
  given
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const numbers: Read = (given) => list(given).map(number);

/** None if the text is "none". A missing variable does not mean that: events would be dropped because of a typo. */
function brokerUrls(given: string): string[] | Error {
  const urls = list(given);
  if (urls.length === 0) return new Error('must name at least one URL, or be "none"');
  return urls.join() === 'none' ? [] : urls;
}

function policies(given: string): unknown {
  try {
    return parseConfigJson(given);
  } catch (error) {
    const noJson = 'must be JSON, for example {"shop-1":{"paymentWindowMs":900000}}';
    return error instanceof ReservedNameError ? error : new Error(noJson);
  }
}

/** Where the value of each variable belongs in the configuration, and how its text is read. */
export const VARIABLES: Readonly<Record<string, readonly [path: string, read: Read]>> = {
  PORT: ['http.port', number],
  HOST: ['http.host', text],
  PUBLISHED_ADDRESS: ['http.publishedAddress', text],
  TRUST_PROXY: ['http.trustProxy', trustedProxies],
  OPERATOR_KEYS: ['http.operatorKeys', list],
  API_KEYS: ['http.apiKeys', list],
  RATE_LIMIT_PER_SECOND: ['rateLimits.perKey', number],
  RATE_LIMIT_FAILURES_PER_SECOND: ['rateLimits.failuresPerAddress', number],
  RATE_LIMIT_FORGERIES_PER_SECOND: ['rateLimits.forgeriesPerAddress', number],
  DATABASE_URL: ['database.url', text],
  DATABASE_POOL_SIZE: ['database.poolSize', number],
  DATABASE_PREPARED_STATEMENTS: ['database.prepares', text],
  DATABASE_SCHEMA: ['database.schema', text],
  RABBITMQ_URLS: ['rabbit.urls', brokerUrls],
  RABBITMQ_PREFIX: ['rabbit.prefix', text],
  RABBITMQ_REPLY_PREFIXES: ['rabbit.replyPrefixes', list],
  RABBITMQ_QUEUE_TYPE: ['rabbit.queueType', text],
  DELAY_TRANSPORT: ['transport', text],
  LADDER_BASE: ['ladder.base', number],
  LADDER_UNIT_MS: ['ladder.unitMs', number],
  HORIZON_MS: ['horizonMs', number],
  SWEEP_INTERVAL_MS: ['sweep.intervalMs', number],
  SWEEP_MARGIN_MS: ['sweep.marginMs', number],
  RETENTION_FINISHED_ORDERS_MS: ['retention.finishedOrdersMs', number],
  RETENTION_IDEMPOTENCY_KEYS_MS: ['retention.idempotencyKeysMs', number],
  RETENTION_SETTLED_MONEY_MS: ['retention.settledMoneyMs', number],
  RETENTION_INTERVAL_MS: ['retention.intervalMs', number],
  HTTP_PAYMENT_PROVIDER_NAME: ['paymentProvider.name', text],
  HTTP_PAYMENT_PROVIDER_URL: ['paymentProvider.baseUrl', text],
  HTTP_PAYMENT_PROVIDER_SECRET: ['paymentProvider.secret', text],
  PAYMENT_PROVIDERS_FILE: ['paymentProvidersFile', text],
  WEBHOOK_URL: ['webhook.url', text],
  WEBHOOK_SECRETS: ['webhook.secrets', list],
  WEBHOOKS_FILE: ['webhooksFile', text],
  LOG_LEVEL: ['logLevel', text],
  SHUTDOWN_TIMEOUT_MS: ['shutdownTimeoutMs', number],
  PAYMENT_WINDOW_MS: ['orders.paymentWindowMs', number],
  GRACE_MS: ['orders.graceMs', number],
  REMINDER_OFFSETS_MS: ['orders.reminderOffsetsMs', numbers],
  LATE_PAYMENT: ['orders.latePayment', text],
  SURPLUS_PAYMENT: ['orders.surplusPayment', text],
  OVERPAYMENT: ['orders.overpayment', text],
  PARTIAL_PAYMENT: ['orders.partialPayment', text],
  LATE_WATCH_OFFSETS_MS: ['orders.lateWatchOffsetsMs', numbers],
  MAX_PAYMENT_ATTEMPTS: ['orders.maxAttempts', number],
  UNKNOWN_PROVIDERS: ['orders.unknownProviders', text],
  PLACED_EVENTS: ['orders.placedEvents', text],
  MERCHANT_POLICIES: ['orders.merchants', policies],
};

const MUST_BE_SET = 'must be set';

/** The message must not contain the URL, which holds the password. */
const url = (protocol: RegExp, kind: string): z.ZodURL => z.url({ protocol, error: `must be ${kind}` });

const configSchema = z.object({
  http: z.object({
    port: integer(0, 65_535).default(3_000),
    host: z.string().default(DEFAULT_HOST),
    apiKeys: z.array(z.string(), MUST_BE_SET).superRefine(checkApiKeys),
    /** Empty: the operator page is closed. */
    operatorKeys: z.array(z.string()).superRefine(checkOperatorKeys).default([]),
    /** Proxies whose `X-Forwarded-For` is trusted; undefined: none. */
    trustProxy: z.custom<TrustedProxies>().optional(),
  }),
  rateLimits: rateLimitOptions,
  database: z.object({
    url: z.string(MUST_BE_SET).pipe(serverUrl),
    poolSize,
    schema: schemaName.default('order_timeout'),
    /** Whether statements are prepared, once per connection. */
    prepares: oneOf(['on', 'off'])
      .default('on')
      .transform((word) => word === 'on'),
  }),
  /** Undefined: there is no broker. */
  rabbit: z
    .object({
      ...rabbitOptions.shape,
      urls: z.array(rabbitOptions.shape.urls.element, 'must be set; "none" means that there is no broker'),
    })
    .pick({ urls: true, prefix: true, replyPrefixes: true, queueType: true })
    .transform((given) => (given.urls.length > 0 ? given : undefined)),
  ...timeoutsOptions.pick({ transport: true, ladder: true, horizonMs: true, sweep: true, shutdownTimeoutMs: true })
    .shape,
  orders: orderPolicyOptions,
  retention: retentionOptions,
  paymentProvider: z
    .object({
      name: z.string().regex(LIMITS.provider, 'must be 1 to 64 letters, digits, ".", "_" or "-"').default('http'),
      baseUrl: url(/^https?$/, 'an http:// or https:// URL').optional(),
      secret: z.string().min(16, 'must have at least 16 characters').optional(),
    })
    .transform(({ name, baseUrl, secret }) => (baseUrl && secret ? { name, baseUrl, secret } : undefined)),
  /** Path of a JSON file; see loadPaymentProviders. */
  paymentProvidersFile: z.string().optional(),
  /** The endpoint of the environment. */
  webhook: z
    .object({
      url: url(/^https$/, 'an https:// URL')
        .refine(hasNoLogin, 'must not contain a user or a password')
        .optional(),
      secrets: z.array(webhookSecret).optional(),
    })
    .transform(({ url: address, secrets }) => (address && secrets ? { url: address, secrets } : undefined)),
  /** Path of a JSON file; see loadWebhooks. */
  webhooksFile: z.string().optional(),
  logLevel: oneOf(LOG_LEVELS).default('info'),
});

/** Signatures say who sends, and logs name the URL. */
function hasNoLogin(address: string): boolean {
  return !/^https:\/\/[^/?#]*@/i.test(address);
}

function checkApiKeys(keys: readonly string[], context: z.RefinementCtx): void {
  const problems = keys.length === 0 ? ['must name at least one key'] : findApiKeyProblems(keys);
  for (const message of problems) context.addIssue({ code: 'custom', message });
}

function checkOperatorKeys(keys: readonly string[], context: z.RefinementCtx): void {
  for (const message of findOperatorKeyProblems(keys)) context.addIssue({ code: 'custom', message });
}

/** JSON in the configuration has a name that the schemas would drop. */
class ReservedNameError extends Error {
  constructor() {
    super('must not use "__proto__" as a name');
  }
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

const NAMES = ['loopback', 'linklocal', 'uniquelocal'];

const WANTED =
  'must be the number of proxies in front of the service (1 to 99), or their addresses, comma-separated: IP addresses, ' +
  `networks such as 10.0.0.0/8, ${NAMES.join(', ')}`;

/** The number of proxies in front of the service, or their addresses, as Express's `trust proxy` takes them. */
type TrustedProxies = number | readonly string[];

/** Parses "2" or "loopback, 10.0.0.0/8". */
function trustedProxies(text: string): TrustedProxies | Error {
  if (/^[1-9]\d?$/.test(text)) return Number(text);
  const proxies = text.split(',').map((part) => part.trim());
  if (proxies.every(isProxy)) return proxies;
  const isBoolean = text.trim().toLowerCase() === 'true';
  const why = isBoolean ? '; "true" would trust every address that a client claims' : '';
  return new Error(`${WANTED}${why}`);
}

function isProxy(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (NAMES.includes(text)) return true;
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  // A network of zero bits would be every address.
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

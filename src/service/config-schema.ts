import { z } from 'zod';
import { findSchemaNameProblems, findSessionProblem, parseServerUrls } from '../database';
import { LOG_LEVELS } from '../operations';
import { LIMITS, POLICY_WORDS } from '../orders';
import { findApiKeyProblems } from '../api/http';
import { findOperatorKeyProblems } from '../api/operator';
import { parseConfigJson, ReservedNameError } from './parse-config-json';
import { readTrustedProxies } from './read-trusted-proxies';

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
  DATABASE_URL: z.string(required).superRefine(checkDatabaseUrl),
  DATABASE_POOL_SIZE: integer(2, 1_000).default(20),
  DATABASE_PREPARED_STATEMENTS: oneOf(['on', 'off']).default('on'),
  DATABASE_SCHEMA: z.string().superRefine(checkSchemaName).default('order_timeout'),
  RABBITMQ_URLS: z.string({ error: 'must be set; "none" means that there is no broker' }).pipe(brokerUrls),
  RABBITMQ_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'must be letters, digits, ".", "_" or "-"')
    .default('order-timeout.v1'),
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

/** The order policies of the environment. */
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

/** The messages must not contain the URL, which holds the password. */
function checkDatabaseUrl(url: string, context: z.RefinementCtx): void {
  const servers = parseServerUrls(url);
  const problem = servers ? findSessionProblem(servers) : 'must be a postgresql:// URL';
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
}

function checkSchemaName(schema: string, context: z.RefinementCtx): void {
  for (const problem of findSchemaNameProblems(schema)) {
    context.addIssue({ code: 'custom', message: problem.replace(/^schema /, '') });
  }
}

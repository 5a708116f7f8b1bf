import { z } from 'zod';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Clock, SystemClock } from '../clock';
import { InvalidOptionsError, MissingPackageError, messageOf } from '../errors';
import { type ResilienceOptions, type PaymentProvider, HttpPaymentProvider } from '../payments';
import type * as Alipay from '../payments/alipay';
import type * as Stripe from '../payments/stripe';
import type * as WechatPay from '../payments/wechat-pay';
import { type OrderTimeoutOptions } from '../module';
import { resolveWebhookOptions, type WebhookEndpoint, type WebhookOptions } from '../webhooks';
import { type ServiceConfig, parseConfigJson } from './config';

const VARIABLE = 'PAYMENT_PROVIDERS_FILE';

interface LoadedProviders {
  readonly providers: readonly PaymentProvider[];
  readonly resilience: Readonly<Record<string, ResilienceOptions>>;
}

export interface LoadedFiles extends LoadedProviders, Pick<OrderTimeoutOptions, 'webhooks'> {}

/**
 * The providers and webhooks of the files, and those of the environment.
 *
 * @throws InvalidOptionsError with every problem of the files, without secrets.
 */
export function loadFiles(config: ServiceConfig): LoadedFiles {
  const problems: string[] = [];
  const providers = loaded(() => providersOf(config), problems);
  const webhooks = loaded(() => loadWebhooks(config), problems);
  if (!providers || problems.length > 0) throw new InvalidOptionsError('files', problems);
  return { ...providers, ...(webhooks && { webhooks }) };
}

function loaded<T>(load: () => T, problems: string[]): T | undefined {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof InvalidOptionsError)) throw error;
    problems.push(...error.problems.map((problem) => `${error.subject}: ${problem}`));
    return undefined;
  }
}

function providersOf({ paymentProvider, paymentProvidersFile }: ServiceConfig): LoadedProviders {
  const clock = new SystemClock();
  const own = paymentProvider ? [new HttpPaymentProvider(paymentProvider, clock)] : [];
  if (paymentProvidersFile === undefined) return { providers: own, resilience: {} };
  const { providers, resilience } = loadPaymentProviders(paymentProvidersFile, clock);
  return { providers: [...own, ...providers], resilience };
}

/* eslint-disable @typescript-eslint/no-require-imports -- an SDK is loaded only if its provider is configured */
const PROVIDER_TYPES = ['alipay', 'wechat-pay', 'stripe', 'http'] as const;

const TYPED = `with a "type" of ${PROVIDER_TYPES.join(', ')}`;

const NOTHING = `must be a JSON array of objects ${TYPED}`;

const entry = z.looseObject(
  {
    type: z.enum(PROVIDER_TYPES, `must be one of ${PROVIDER_TYPES.join(', ')}`),
    resilience: z.looseObject({}).optional(),
  },
  `must be an object ${TYPED}`,
);

const entries = z.array(entry, NOTHING);

/**
 * Reads the providers file: a JSON array such as `[{"type": "alipay", "merchants": {...}}]`. Each entry has the options
 * of its class and an optional `resilience`. Keys may be in separate files, as `"file:keys/alipay.pem"`.
 *
 * @throws InvalidOptionsError with every problem of every provider, without secrets.
 */
export function loadPaymentProviders(path: string, clock: Clock): LoadedProviders {
  const parsed = entries.safeParse(readConfigFile(VARIABLE, path));
  if (!parsed.success) {
    throw failed(parsed.error.issues.map(({ path: at, message }) => `${at.map(String).join('.') || 'it'} ${message}`));
  }
  const problems: string[] = [];
  const providers: PaymentProvider[] = [];
  const limits = new Map<string, ResilienceOptions>();
  parsed.data.forEach(({ type, resilience, ...options }, index) => {
    try {
      const provider = createPaymentProvider(type, withFiles(options, path), clock);
      providers.push(provider);
      if (resilience) limits.set(provider.name, resilience);
    } catch (error) {
      problems.push(
        ...InvalidOptionsError.problemsIn(error).map((problem) => `provider ${index + 1} (${type}): ${problem}`),
      );
    }
  });
  if (problems.length > 0) throw failed(problems);
  return { providers, resilience: Object.fromEntries(limits) };
}

function failed(problems: readonly string[]): InvalidOptionsError {
  return new InvalidOptionsError(VARIABLE, problems);
}

type ProviderType = (typeof PROVIDER_TYPES)[number];

type Create = (options: never, clock: Clock) => PaymentProvider;

const CREATE: Readonly<Record<ProviderType, () => Create>> = {
  alipay: () => {
    const { AlipayProvider } = require('../payments/alipay') as typeof Alipay;
    return (options, clock) => new AlipayProvider(options, clock);
  },
  'wechat-pay': () => {
    const { WechatPayProvider } = require('../payments/wechat-pay') as typeof WechatPay;
    return (options, clock) => new WechatPayProvider(options, clock);
  },
  stripe: () => {
    const { StripeProvider } = require('../payments/stripe') as typeof Stripe;
    return (options, clock) => new StripeProvider(options, clock);
  },
  http: () => (options, clock) => new HttpPaymentProvider(options, clock),
};

/**
 * @param options not validated: the provider's class validates them.
 * @throws InvalidOptionsError with every invalid option, or the package that is not installed.
 */
export function createPaymentProvider(type: ProviderType, options: unknown, clock: Clock): PaymentProvider {
  return load(type)(options as never, clock);
}

function load(type: ProviderType): Create {
  try {
    return CREATE[type]();
  } catch (error) {
    if (!(error instanceof MissingPackageError)) throw error;
    throw new InvalidOptionsError(type, [`needs the package ${error.packageName}: npm install ${error.packageName}`]);
  }
}

const WEBHOOKS_VARIABLE = 'WEBHOOKS_FILE';

type WebhookConfig = Pick<ServiceConfig, 'webhook' | 'webhooksFile'>;

/**
 * The webhooks of `WEBHOOKS_FILE`, a JSON object such as `{"endpoints": [{"name": "crm", ...}]}`, and the endpoint
 * `default` of `WEBHOOK_URL`. Secrets may be in separate files, as `"file:keys/crm.txt"`. Undefined if none are configured.
 *
 * @throws InvalidOptionsError with every problem, without secrets.
 */
export function loadWebhooks({ webhook, webhooksFile }: WebhookConfig): WebhookOptions | undefined {
  const own: WebhookEndpoint[] = webhook ? [{ name: 'default', ...webhook }] : [];
  if (webhooksFile === undefined) return webhook && { endpoints: own };
  const given = withSecrets(webhooksFile);
  // With the endpoint of the environment, whose name may be taken.
  return { ...given, endpoints: [...given.endpoints, ...own] };
}

function withSecrets(path: string): WebhookOptions {
  try {
    const options = withFiles(readConfigFile(WEBHOOKS_VARIABLE, path), path) as WebhookOptions;
    resolveWebhookOptions(options);
    return options;
  } catch (error) {
    throw new InvalidOptionsError(WEBHOOKS_VARIABLE, InvalidOptionsError.problemsIn(error));
  }
}

/** A value with this prefix is read from a file. Its path is relative to the JSON file. */
const FROM_FILE = 'file:';

/**
 * Reads a JSON file that a variable names.
 *
 * @throws InvalidOptionsError without what the file holds, which may be a key.
 */
function readConfigFile(variable: string, path: string): unknown {
  try {
    return parseConfigJson(readFileSync(path, 'utf8'));
  } catch (error) {
    // The parser quotes the text that it cannot read.
    const why = error instanceof SyntaxError ? 'it is not valid JSON' : messageOf(error);
    throw new InvalidOptionsError(variable, [`${path}: ${why}`]);
  }
}

/** The value with each text such as `file:keys/own.pem` replaced by what that file holds. @param path of the JSON file */
function withFiles(value: unknown, path: string): unknown {
  if (typeof value === 'string' && value.startsWith(FROM_FILE)) {
    return readFileSync(resolve(dirname(path), value.slice(FROM_FILE.length)), 'utf8').trim();
  }
  if (Array.isArray(value)) return value.map((part) => withFiles(part, path));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withFiles(part, path)]));
}

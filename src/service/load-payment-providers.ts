import { z } from 'zod';
import { type Clock } from '../clock';
import { InvalidOptionsError, MissingPackageError } from '../errors';
import { type ResilienceOptions, type PaymentProvider, HttpPaymentProvider } from '../payments';
import type * as Alipay from '../payments/alipay';
import type * as Stripe from '../payments/stripe';
import type * as WechatPay from '../payments/wechat-pay';
import { readConfigFile, withFiles } from './load-webhooks';

const VARIABLE = 'PAYMENT_PROVIDERS_FILE';

/** Providers for OrderTimeoutOptions. */
export interface LoadedProviders {
  readonly providers: readonly PaymentProvider[];
  readonly resilience: Readonly<Record<string, ResilienceOptions>>;
}

/* eslint-disable @typescript-eslint/no-require-imports -- an SDK is loaded only if its provider is configured */
/** Types of providers in the providers file. */
const PROVIDER_TYPES = ['alipay', 'wechat-pay', 'stripe', 'http'] as const;

const NOTHING = `must be a JSON array of objects with a "type" of ${PROVIDER_TYPES.join(', ')}`;

const entry = z.looseObject(
  {
    type: z.enum(PROVIDER_TYPES, `must be one of ${PROVIDER_TYPES.join(', ')}`),
    resilience: z.looseObject({}).optional(),
  },
  NOTHING,
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
      problems.push(...problemsOf(error).map((problem) => `provider ${index + 1} (${type}): ${problem}`));
    }
  });
  if (problems.length > 0) throw failed(problems);
  return { providers, resilience: Object.fromEntries(limits) };
}

function problemsOf(error: unknown): readonly string[] {
  if (error instanceof InvalidOptionsError) return error.problems;
  return [error instanceof Error ? error.message : String(error)];
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
function createPaymentProvider(type: ProviderType, options: unknown, clock: Clock): PaymentProvider {
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

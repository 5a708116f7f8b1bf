import { z } from 'zod';
import { type Clock } from '../clock';
import { InvalidOptionsError } from '../errors';
import { type ResilienceOptions, type PaymentProvider } from '../payments';
import { createPaymentProvider, PROVIDER_TYPES } from './create-payment-provider';
import { readConfigFile, withFiles } from './read-config-file';

const VARIABLE = 'PAYMENT_PROVIDERS_FILE';

/** Providers for OrderTimeoutOptions. */
export interface LoadedProviders {
  readonly providers: readonly PaymentProvider[];
  readonly resilience: Readonly<Record<string, ResilienceOptions>>;
}

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

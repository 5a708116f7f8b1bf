/* eslint-disable @typescript-eslint/no-require-imports -- an SDK is loaded only if its provider is configured */
import { type Clock } from '../clock';
import { InvalidOptionsError, MissingPackageError } from '../errors';
import { HttpPaymentProvider, type PaymentProvider } from '../payments';
import type * as Alipay from '../payments/alipay';
import type * as Stripe from '../payments/stripe';
import type * as WechatPay from '../payments/wechat-pay';

/** Types of providers in the providers file. */
export const PROVIDER_TYPES = ['alipay', 'wechat-pay', 'stripe', 'http'] as const;

export type ProviderType = (typeof PROVIDER_TYPES)[number];

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

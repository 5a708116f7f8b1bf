import { type SimulatorMerchants } from '../../support/servers/simulator-client';
import { type ProviderName } from '../scenario';

/** Answers that are untrusted or missing are part of the run, so a provider is left alone for a moment only. */
const RESILIENCE = { ratePerSecond: 1_000, breakerOpenMs: 500 };
/** Its own limits of rates count for the rest. */
const STRIPE_RESILIENCE = { breakerOpenMs: 500 };

/** The service's providers file: every provider of the run, at the simulator, with all its merchants. */
export function providerConfiguration(
  providers: readonly ProviderName[],
  simulatorUrl: string,
  merchants: SimulatorMerchants,
): object[] {
  const entries: Record<ProviderName, object> = {
    alipay: {
      gateway: `${simulatorUrl}/alipay/gateway.do`,
      merchants: pick(merchants.alipay, ({ appId, sellerId, privateKey, alipayPublicKey }) => ({
        ...{ appId, sellerId, privateKey, alipayPublicKey },
      })),
    },
    'wechat-pay': {
      baseUrl: `${simulatorUrl}/wechat-pay`,
      merchants: pick(merchants.wechatPay, ({ options }) => options),
    },
    stripe: { baseUrl: `${simulatorUrl}/stripe`, merchants: merchants.stripe, resilience: STRIPE_RESILIENCE },
  };
  return providers.map((type) => ({ type, resilience: RESILIENCE, ...entries[type] }));
}

function pick<T>(merchants: Readonly<Record<string, T>>, options: (merchant: T) => object): Record<string, object> {
  return Object.fromEntries(Object.entries(merchants).map(([account, merchant]) => [account, options(merchant)]));
}

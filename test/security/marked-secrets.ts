import { createHash } from 'node:crypto';
import { generateAlipayMerchants } from '../../packages/payment-simulator/src/alipay';
import { generateWechatPayMerchants } from '../../packages/payment-simulator/src/wechat-pay';

/** Secrets of every kind that can be recognized wherever they turn up. */
export interface MarkedSecrets {
  readonly database: string;
  readonly broker: string;
  readonly apiKey: string;
  readonly httpProvider: string;
  /** Of an endpoint of webhooks. */
  readonly endpoint: string;
  readonly apiKeys: string;
  /** Entries of the providers file. */
  readonly providers: readonly object[];
  /** The name of every secret of which a piece stands in the text. */
  foundIn(text: string): string[];
}

/** @param baseUrl where all providers are asked. */
export function markSecrets(baseUrl: string): MarkedSecrets {
  const mark = (name: string): string => `MARKED${name}${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
  const [alipay] = Object.values(generateAlipayMerchants(['shop']));
  const [wechatPay] = Object.values(generateWechatPayMerchants(['shop']));
  if (!alipay || !wechatPay) throw new Error('no merchants');
  const plain = {
    database: mark('Database'),
    broker: mark('Broker'),
    apiKey: mark('ApiKey'),
    httpProvider: mark('Http'),
    endpoint: `whsec_${Buffer.from(mark('Endpoint')).toString('base64')}`,
  };
  const stripe = { secretKey: `sk_test_${mark('Stripe')}`, webhookSecrets: [`whsec_${mark('Webhook')}`] };
  const { appId, sellerId, privateKey, alipayPublicKey } = alipay;
  const secrets: Readonly<Record<string, string>> = {
    ...plain,
    stripeKey: stripe.secretKey,
    webhookSecret: stripe.webhookSecrets[0] ?? '',
    apiV3Key: wechatPay.options.apiV3Key,
    alipayPrivateKey: middleOf(privateKey),
    wechatPayPrivateKey: middleOf(wechatPay.options.privateKey),
  };
  return {
    ...plain,
    apiKeys: `shop:${createHash('sha256').update(plain.apiKey).digest('hex')}:*`,
    providers: [
      {
        type: 'alipay',
        merchants: { shop: { appId, sellerId, privateKey, alipayPublicKey } },
        gateway: `${baseUrl}/g`,
      },
      { type: 'wechat-pay', merchants: { shop: wechatPay.options }, baseUrl },
      { type: 'stripe', merchants: { shop: stripe }, baseUrl },
    ],
    foundIn: (text) => Object.keys(secrets).filter((name) => text.includes(secrets[name] ?? '')),
  };
}

/** A line from within a PEM, which no other key has. */
function middleOf(pem: string): string {
  return pem.split('\n')[5] ?? '';
}

import { createHmac, createSign } from 'node:crypto';
import { generateAlipayMerchants } from '../../packages/payment-simulator/src/alipay';
import { generateStripeMerchants } from '../../packages/payment-simulator/src/stripe';
import { generateWechatPayMerchants } from '../../packages/payment-simulator/src/wechat-pay';
import { sealForShop } from '../../packages/payment-simulator/src/wechat-pay/seal-for-shop';
import { signForShop } from '../../packages/payment-simulator/src/wechat-pay/sign-for-shop';

/** What a provider posts. Header names in lower case. */
export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** One payment provider as both sides know it. */
export interface Payer {
  readonly name: string;
  /** Entry of the providers file. */
  readonly options: object;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  /** A genuine notification, signed now: the attempt was paid. */
  paid(): Post;
  /** What its signature covers and what it is, so that another spelling of the same message counts as the same. */
  meaning(post: Post): string;
}

/** Nothing listens there: asking the provider fails, and so nothing but a notification can pay an order. */
const NOWHERE = 'http://127.0.0.1:9';

export function makePayers(): readonly Payer[] {
  return [alipay(), wechatPay(), stripe()];
}

function alipay(): Payer {
  const [merchant] = Object.values(generateAlipayMerchants(['shop']));
  if (!merchant) throw new Error('no merchant');
  const { appId, sellerId, privateKey, alipayPublicKey, alipayPrivateKey } = merchant;
  const params: Record<string, string> = {
    ...{ notify_type: 'trade_status_sync', notify_id: 'n-1', notify_time: '2026-01-01 08:00:01', charset: 'utf-8' },
    ...{ app_id: appId, seller_id: sellerId, out_trade_no: 'ref-alipay', trade_no: '2026010122001', version: '1.0' },
    ...{ trade_status: 'TRADE_SUCCESS', total_amount: '19.99', gmt_payment: '2026-01-01 07:59:30', subject: 'apples' },
  };
  const text = Object.keys(params).sort().map((name) => `${name}=${params[name] ?? ''}`).join('&'); // prettier-ignore
  const sign = createSign('sha256').update(text).sign(alipayPrivateKey, 'base64');
  const body = Buffer.from(new URLSearchParams({ ...params, sign, sign_type: 'RSA2' }).toString());
  return {
    name: 'alipay',
    options: {
      type: 'alipay',
      merchants: { shop: { appId, sellerId, privateKey, alipayPublicKey } },
      gateway: `${NOWHERE}/gateway.do`,
    },
    ...{ reference: 'ref-alipay', amount: 1_999, currency: 'CNY' },
    paid: () => ({ headers: { 'content-type': 'application/x-www-form-urlencoded' }, body }),
    meaning: ({ body: given }) => {
      const fields = [...new URLSearchParams(given.toString('latin1'))];
      return JSON.stringify(fields.map(([key, value]) => [key, key === 'sign' ? bytesOf(value) : value]).sort());
    },
  };
}

function wechatPay(): Payer {
  const [merchant] = Object.values(generateWechatPayMerchants(['shop']));
  const [key] = merchant?.platform ?? [];
  if (!merchant || !key) throw new Error('no merchant');
  const { mchid, appid, apiV3Key } = merchant.options;
  const resource = {
    ...{ mchid, appid, out_trade_no: 'ref-wechat-pay', trade_state: 'SUCCESS', transaction_id: '42' },
    ...{ success_time: '2026-01-01T08:00:01+08:00', amount: { total: 1_999, payer_total: 1_999, currency: 'CNY' } },
  };
  const body = JSON.stringify({
    ...{ id: 'n-1', create_time: '2026-01-01T08:00:02+08:00', event_type: 'TRANSACTION.SUCCESS' },
    ...{ resource_type: 'encrypt-resource', resource: sealForShop(JSON.stringify(resource), apiV3Key, 'transaction') },
  });
  return {
    name: 'wechat-pay',
    options: { type: 'wechat-pay', merchants: { shop: merchant.options }, baseUrl: NOWHERE },
    ...{ reference: 'ref-wechat-pay', amount: 1_999, currency: 'CNY' },
    paid: () => ({
      headers: { 'content-type': 'application/json', ...lower(signForShop(key, body, Date.now())) },
      body: Buffer.from(body),
    }),
    meaning: ({ headers, body: given }) => {
      const about = ['timestamp', 'nonce', 'serial'].map((name) => headers[`wechatpay-${name}`]?.trim().toLowerCase());
      return JSON.stringify([bytesOf(headers['wechatpay-signature'] ?? ''), about, given.toString('latin1')]);
    },
  };
}

function stripe(): Payer {
  const [merchant] = Object.values(generateStripeMerchants(['shop']));
  if (!merchant) throw new Error('no merchant');
  const intent = {
    ...{ id: 'pi_1', object: 'payment_intent', amount: 1_999, amount_received: 1_999, currency: 'eur' },
    ...{ status: 'succeeded', latest_charge: 'ch_1', livemode: false, created: 1_767_225_600, metadata: {} },
  };
  const body = JSON.stringify({
    ...{ id: 'evt_1', object: 'event', api_version: '2026-10-28.endive', created: 1_767_225_700, livemode: false },
    ...{ type: 'payment_intent.succeeded', data: { object: intent }, pending_webhooks: 1 },
  });
  const sign = (): string => {
    const at = Math.floor(Date.now() / 1_000);
    const [secret = ''] = merchant.webhookSecrets;
    return `t=${at},v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`;
  };
  return {
    name: 'stripe',
    options: { type: 'stripe', merchants: { shop: merchant }, baseUrl: NOWHERE },
    ...{ reference: 'pi_1', amount: 1_999, currency: 'EUR' },
    paid: () => ({
      headers: { 'content-type': 'application/json', 'stripe-signature': sign() },
      body: Buffer.from(body),
    }),
    meaning: ({ headers, body: given }) => {
      const parts = (headers['stripe-signature'] ?? '').toLowerCase().split(',');
      const known = parts.map((part) => part.trim()).filter((part) => /^(t|v1)=/.test(part));
      const read = known.map((part) => (part.startsWith('t=') ? parseInt(part.slice(2)) : part.split('=')[1]));
      return JSON.stringify([read, given.toString('latin1')]);
    },
  };
}

function bytesOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

function lower(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

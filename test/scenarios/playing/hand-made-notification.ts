import { createCipheriv, createHmac, createSign, randomBytes } from 'node:crypto';
import { type SimulatorMerchants } from '../../support/servers/simulator-client';
import { type PlacedPayment } from './placed-order';

/** What is wrong with it: nothing, its signature, or its age. */
export type Flaw = 'none' | 'wrong-signature' | 'an-hour-old';

interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Claim {
  readonly payment: PlacedPayment;
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly flaw: Flaw;
}

const HOUR_S = 3_600;

/** A notification that says "paid", signed here with the provider's own keys: apart from its flaw nothing is wrong. */
export function handMadeNotification(merchants: SimulatorMerchants, claim: Claim): Post {
  switch (claim.payment.provider) {
    case 'alipay':
      return alipay(merchants, claim);
    case 'wechat-pay':
      return wechatPay(merchants, claim);
    case 'stripe':
      return stripe(merchants, claim);
  }
}

function timestampOf({ flaw }: Claim): number {
  return Math.floor(Date.now() / 1_000) - (flaw === 'an-hour-old' ? HOUR_S : 0);
}

/** Signed by somebody, but not over this. */
function spoil(message: string, { flaw }: Claim): string {
  return flaw === 'wrong-signature' ? `${message} ` : message;
}

function merchantOf<T>(merchants: Readonly<Record<string, T>>, { payment }: Claim): T {
  const merchant = merchants[payment.ownerAccount];
  if (!merchant) throw new Error(`the simulator has no merchant "${payment.ownerAccount}"`);
  return merchant;
}

function rsa(message: string, privateKey: string): string {
  return createSign('RSA-SHA256').update(message).sign(privateKey, 'base64');
}

/** `2026-01-01 08:00:00` or, with `T` and the zone, RFC 3339; in Beijing. */
function beijing(epochS: number): string {
  return new Date((epochS + 8 * HOUR_S) * 1_000).toISOString().slice(0, 19);
}

function alipay(merchants: SimulatorMerchants, claim: Claim): Post {
  const { appId, sellerId, alipayPrivateKey } = merchantOf(merchants.alipay, claim);
  const time = beijing(timestampOf(claim)).replace('T', ' ');
  const params: Record<string, string> = {
    ...{ notify_type: 'trade_status_sync', notify_time: time, notify_id: randomBytes(16).toString('hex') },
    ...{ app_id: appId, seller_id: sellerId, out_trade_no: claim.payment.reference, charset: 'utf-8', version: '1.0' },
    ...{ trade_no: `sim-${claim.payment.reference}`, trade_status: 'TRADE_SUCCESS', gmt_payment: time },
    total_amount: (claim.amount / 100).toFixed(2),
  };
  const sorted = Object.keys(params).sort();
  const message = sorted.map((name) => `${name}=${params[name]}`).join('&');
  const sign = rsa(spoil(message, claim), alipayPrivateKey);
  return {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ ...params, sign, sign_type: 'RSA2' }).toString(),
  };
}

function wechatPay(merchants: SimulatorMerchants, claim: Claim): Post {
  const { options, platform } = merchantOf(merchants.wechatPay, claim);
  const [key] = platform;
  if (!key) throw new Error('the simulated merchant has no platform key');
  const timestamp = timestampOf(claim);
  const time = `${beijing(timestamp)}+08:00`;
  const { payment, amount, currency } = claim;
  const transaction = {
    ...{ appid: options.appid, mchid: options.mchid, out_trade_no: payment.reference, trade_state: 'SUCCESS' },
    ...{ transaction_id: `sim-${payment.reference}`, trade_type: 'NATIVE', success_time: time },
    amount: { total: amount, payer_total: amount, currency, payer_currency: currency },
  };
  const body = JSON.stringify({
    ...{ id: randomBytes(16).toString('hex'), create_time: time, event_type: 'TRANSACTION.SUCCESS' },
    ...{ resource_type: 'encrypt-resource', summary: '支付成功' },
    resource: { original_type: 'transaction', ...seal(JSON.stringify(transaction), options.apiV3Key) },
  });
  const nonce = randomBytes(16).toString('hex');
  const headers = {
    'content-type': 'application/json',
    'wechatpay-timestamp': String(timestamp),
    'wechatpay-nonce': nonce,
    'wechatpay-serial': key.serial,
    'wechatpay-signature': rsa(spoil(`${timestamp}\n${nonce}\n${body}\n`, claim), key.privateKey),
  };
  return { headers, body };
}

function seal(plain: string, key: string): Record<string, string> {
  const nonce = randomBytes(6).toString('hex');
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from('transaction'));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return {
    algorithm: 'AEAD_AES_256_GCM',
    ciphertext: sealed.toString('base64'),
    associated_data: 'transaction',
    nonce,
  };
}

function stripe(merchants: SimulatorMerchants, claim: Claim): Post {
  const [secret = ''] = merchantOf(merchants.stripe, claim).webhookSecrets;
  const { payment, amount } = claim;
  const timestamp = timestampOf(claim);
  const intent = {
    ...{ id: payment.reference, object: 'payment_intent', status: 'succeeded', livemode: false, created: timestamp },
    ...{ amount, amount_received: amount, amount_capturable: 0, currency: claim.currency.toLowerCase() },
    ...{ latest_charge: `ch_${payment.reference.slice(3)}`, metadata: {}, capture_method: 'automatic' },
  };
  const body = JSON.stringify({
    ...{ id: `evt_${randomBytes(12).toString('hex')}`, object: 'event', api_version: '2026-10-28.endive' },
    ...{ created: timestamp, livemode: false, pending_webhooks: 1, type: 'payment_intent.succeeded' },
    data: { object: intent },
  });
  const signature = createHmac('sha256', secret)
    .update(spoil(`${timestamp}.${body}`, claim))
    .digest('hex');
  return {
    headers: { 'content-type': 'application/json', 'stripe-signature': `t=${timestamp},v1=${signature}` },
    body,
  };
}

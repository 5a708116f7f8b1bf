import { createSign, randomBytes } from 'node:crypto';
import { type WechatPayPlatformKey } from './wechat-pay-merchants';

/** The headers that WeChat Pay signs an answer or a notification with. */
export function signForShop(key: WechatPayPlatformKey, body: string, atMs: number): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1_000));
  const nonce = randomBytes(16).toString('hex');
  return {
    'Wechatpay-Timestamp': timestamp,
    'Wechatpay-Nonce': nonce,
    'Wechatpay-Serial': key.serial,
    'Wechatpay-Signature': createSign('sha256')
      .update(`${timestamp}\n${nonce}\n${body}\n`)
      .sign(key.privateKey, 'base64'),
    'Wechatpay-Signature-Type': 'WECHATPAY2-SHA256-RSA2048',
  };
}

import { createVerify } from 'node:crypto';
import { type SimulatorRequest } from '../reply';
import { type WechatPaySimulatedMerchant, type WechatPaySimulatedMerchants } from './wechat-pay-merchants';

/** Who asks. */
export interface AuthorizedShop {
  readonly account: string;
  readonly merchant: WechatPaySimulatedMerchant;
}

const SCHEME = 'WECHATPAY2-SHA256-RSA2048 ';
const MAX_SKEW_SECONDS = 300;

/**
 * The merchant whose signature the request bears, or why it is not accepted.
 * @param prefix what the simulator took off the path; the shop has signed the whole.
 */
export function authorizeShop(
  request: SimulatorRequest,
  merchants: WechatPaySimulatedMerchants,
  prefix: string,
  nowMs: number,
): AuthorizedShop | string {
  const header = request.headers.authorization ?? '';
  if (!header.startsWith(SCHEME)) return `Authorization must begin with ${SCHEME}`;
  const fields = Object.fromEntries(
    [...header.slice(SCHEME.length).matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  ) as Partial<Record<string, string>>;
  const { mchid, serial_no: serial, timestamp = '', nonce_str: nonce = '', signature = '' } = fields;
  const found = Object.entries(merchants).find(([, { options }]) => options.mchid === mchid);
  if (!found) return 'no such mchid';
  const [account, merchant] = found;
  if (serial !== merchant.options.serialNo) return 'no such serial_no';
  if (!(Math.abs(Number(timestamp) - nowMs / 1_000) <= MAX_SKEW_SECONDS)) return 'timestamp is off';
  const isSigned = [prefix + request.path, request.path].some((path) =>
    createVerify('sha256')
      .update(`${request.method}\n${path}\n${timestamp}\n${nonce}\n`)
      .update(request.body)
      .update('\n')
      .verify(merchant.publicKey, signature, 'base64'),
  );
  return isSigned ? { account, merchant } : 'signature is wrong';
}

import { type SimulatorRequest } from '../reply';
import { type AlipaySimulatedMerchant, type AlipaySimulatedMerchants } from './alipay-merchants';
import { isRsa2Signed, signedText } from './alipay-signature';
import { readAlipayTime } from './alipay-text';

/** Further off, a request is refused: enough for slow clocks, too little for another time zone. */
const MAX_SKEW_MS = 15 * 60_000;

/** A call of a shop that is what it says. */
export interface AlipayRequest {
  readonly account: string;
  readonly merchant: AlipaySimulatedMerchant;
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  /** Those fields of `biz_content` that are strings. */
  readonly content: Readonly<Record<string, string>>;
}

/** Why a call is refused; only a known merchant's refusal is signed. */
export interface AlipayRefusal {
  readonly subCode: string;
  readonly merchant?: AlipaySimulatedMerchant;
  readonly method?: string;
}

/** Reads `gateway.do`: public parameters in the URL or the form, `biz_content` as JSON, RSA2 over all but `sign`. */
export function readAlipayRequest(
  request: SimulatorRequest,
  merchants: AlipaySimulatedMerchants,
  nowMs: number,
): AlipayRequest | AlipayRefusal {
  const form = new URLSearchParams(Buffer.from(request.body).toString('utf8'));
  const params = Object.fromEntries([...request.query, ...form]);
  const { app_id: appId, method = '', sign = '', timestamp = '', biz_content: content = '{}' } = params;
  const [account, merchant] = Object.entries(merchants).find(([, one]) => one.appId === appId) ?? [];
  if (account === undefined || !merchant) return { subCode: 'isv.invalid-app-id' };
  if (params['sign_type'] !== 'RSA2' || !isRsa2Signed(signedText(params, ['sign']), sign, merchant.publicKey)) {
    return { subCode: 'isv.invalid-signature', merchant, method };
  }
  if (!(Math.abs(readAlipayTime(timestamp) - nowMs) <= MAX_SKEW_MS)) {
    return { subCode: 'isv.invalid-timestamp', merchant, method };
  }
  try {
    return { account, merchant, method, params, content: strings(JSON.parse(content)) };
  } catch {
    return { subCode: 'isv.invalid-parameter', merchant, method };
  }
}

function strings(content: unknown): Record<string, string> {
  const entries = Object.entries(content ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

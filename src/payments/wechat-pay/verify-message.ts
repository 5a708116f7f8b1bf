import { verify } from 'node:crypto';
import { isFreshTimestamp, MAX_SKEW_SECONDS } from '../http/http-message-signature';
import { type PlatformKeys } from './platform-keys';

/** An answer or a notification as received. */
export interface SignedMessage {
  /** Value of the header. Undefined if it is missing or repeated. */
  header(name: string): string | undefined;
  /** The unparsed body. */
  readonly rawBody: Buffer;
}

/** Whether WeChat Pay sent the message, and at what time by its clock. */
export type Verification =
  | { readonly type: 'VERIFIED'; readonly at: Date }
  | { readonly type: 'UNVERIFIED'; readonly reason: string; readonly unknownSerial?: string };

/** WeChat Pay sometimes sends wrong signatures with this prefix, to find shops that do not verify them. */
const PROBE = 'WECHATPAY/SIGNTEST/';

/** Checks the RSA-SHA256 signature over `timestamp \n nonce \n body \n` and that the timestamp is within ±300 s. */
export function verifyMessage(message: SignedMessage, keys: PlatformKeys, nowMs: number): Verification {
  const [timestamp, nonce, serial, signature] = ['timestamp', 'nonce', 'serial', 'signature'].map((name) =>
    message.header(`wechatpay-${name}`),
  );
  if (!timestamp || !nonce || !serial || !signature) return unverified('it is not signed');
  if (signature.startsWith(PROBE)) return unverified('its signature is a probe of WeChat Pay (WECHATPAY/SIGNTEST)');
  const key = keys.find(serial);
  if (!key) {
    const reason = `it is signed with the unknown platform key ${JSON.stringify(serial.slice(0, 64))}`;
    return { type: 'UNVERIFIED', reason, unknownSerial: serial };
  }
  const signed = Buffer.concat([Buffer.from(`${timestamp}\n${nonce}\n`), message.rawBody, Buffer.from('\n')]);
  if (!verify('sha256', signed, key, Buffer.from(signature, 'base64'))) return unverified('its signature is wrong');
  if (!isFreshTimestamp(timestamp, nowMs)) {
    const limit = `more than ${MAX_SKEW_SECONDS} s from this machine's clock; check NTP on this machine`;
    return unverified(`its timestamp ${JSON.stringify(timestamp.slice(0, 16))} is ${limit}`);
  }
  return { type: 'VERIFIED', at: new Date(Number(timestamp) * 1_000) };
}

function unverified(reason: string): Verification {
  return { type: 'UNVERIFIED', reason };
}

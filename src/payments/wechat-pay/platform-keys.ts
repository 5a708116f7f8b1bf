import { type KeyObject, verify, createDecipheriv } from 'node:crypto';
import { z } from 'zod';
import { isFreshTimestamp, MAX_SKEW_SECONDS } from '../http/http-message-signature';

/** Prefix of the ids of WeChat Pay's public keys. Other serials are those of platform certificates. */
const PUBLIC_KEY_ID = /^PUB_KEY_ID_/;

/**
 * The keys that WeChat Pay signs with for one merchant, by serial. There are several while certificates are renewed or
 * replaced by a public key: WeChat Pay then picks one at random for each notification.
 */
export class PlatformKeys {
  private readonly bySerial = new Map<string, KeyObject>();

  constructor(keys: Iterable<readonly [serial: string, key: KeyObject]>) {
    for (const [serial, key] of keys) this.add(serial, key);
  }

  add(serial: string, key: KeyObject): void {
    // OpenSSL prints serials in lower or upper case. WeChat Pay sends upper case.
    this.bySerial.set(serial.toUpperCase(), key);
  }

  find(serial: string): KeyObject | undefined {
    return this.bySerial.get(serial.toUpperCase());
  }

  /** Whether the serial belongs to a certificate. Certificates can be downloaded, public keys cannot. */
  static isCertificate(serial: string): boolean {
    return /^[0-9a-f]{8,64}$/i.test(serial);
  }

  /**
   * Id of the configured public key. Every request names it as Wechatpay-Serial: during the change to public keys,
   * WeChat Pay otherwise signs its answer with the platform certificate.
   */
  get publicKeyId(): string | undefined {
    return [...this.bySerial.keys()].find((serial) => PUBLIC_KEY_ID.test(serial));
  }
}

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

/** Data that WeChat Pay encrypted with the merchant's APIv3 key. */
export const sealedSchema = z.looseObject({
  algorithm: z.literal('AEAD_AES_256_GCM'),
  nonce: z.string().min(1).max(64),
  associated_data: z.string().default(''),
  ciphertext: z.string(),
});

const TAG_BYTES = 16;

/** Decrypts the data. Undefined if it has another key or was changed. */
export function openSealed(sealed: z.output<typeof sealedSchema>, apiV3Key: KeyObject): string | undefined {
  const bytes = Buffer.from(sealed.ciphertext, 'base64');
  try {
    // Without authTagLength, Node also accepts a tag of 4 bytes, which can be guessed.
    const decipher = createDecipheriv('aes-256-gcm', apiV3Key, sealed.nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(sealed.associated_data)).setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/** Undefined if the text is not JSON. The schemas reject that. */
export function parseJson(rawBody: Buffer | string): unknown {
  try {
    return JSON.parse(rawBody.toString());
  } catch {
    return undefined;
  }
}

/** An answer, verified or not. Server errors are mapped before. */
export interface WechatPayAnswer {
  readonly type: 'ANSWER';
  readonly status: number;
  /** JSON, or undefined. */
  readonly body: unknown;
  /** Error code in upper case and without `_`, because WeChat Pay's documentation spells the codes in two ways. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly verification: Verification;
  readonly retryAfterMs: number | undefined;
  /** WeChat Pay's request id, for its support. */
  readonly requestId: string | undefined;
}

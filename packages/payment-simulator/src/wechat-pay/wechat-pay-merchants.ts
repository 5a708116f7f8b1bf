import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { selfSignedCertificate } from './self-signed-certificate';

/** One of the keys that WeChat Pay signs with. */
export interface WechatPayPlatformKey {
  /** `PUB_KEY_ID_…`, or the serial of the certificate. */
  readonly serial: string;
  /** PEM. */
  readonly privateKey: string;
  /** PEM; only of a key that has one. `GET /v3/certificates` lists it. */
  readonly certificate?: string;
}

/** A merchant as both sides know it. Keys are PEM. */
export interface WechatPaySimulatedMerchant {
  /** The adapter's options of this merchant, as they are. They know the public key, but not the certificate. */
  readonly options: {
    readonly mchid: string;
    readonly appid: string;
    readonly serialNo: string;
    readonly privateKey: string;
    readonly apiV3Key: string;
    readonly platformKeys: Readonly<Record<string, string>>;
  };
  /** What WeChat Pay checks the shop's signatures with. */
  readonly publicKey: string;
  /** The first one signs unless something else is asked for. */
  readonly platform: readonly WechatPayPlatformKey[];
}

/** Merchants by account. A payment without an account belongs to the first. */
export type WechatPaySimulatedMerchants = Readonly<Record<string, WechatPaySimulatedMerchant>>;

const YEAR_MS = 365 * 24 * 3_600_000;

/** Merchants with new RSA keys of 2048 bits, three for each; takes some 300 ms for each merchant. */
export function generateWechatPayMerchants(accounts: readonly string[] = ['shop']): WechatPaySimulatedMerchants {
  return Object.fromEntries(accounts.map((account, index) => [account, generateMerchant(index)]));
}

function generateMerchant(index: number): WechatPaySimulatedMerchant {
  const mchid = String(1_900_000_100 + index);
  const [shop, platform, certified] = [generateKeys(), generateKeys(), generateKeys()];
  const publicKeyId = `PUB_KEY_ID_01${mchid}2026010100000000000${index}`;
  return {
    options: {
      mchid,
      appid: `wx${randomBytes(8).toString('hex')}`,
      serialNo: newSerial(),
      privateKey: shop.privateKey,
      apiV3Key: randomBytes(16).toString('hex'),
      platformKeys: { [publicKeyId]: platform.publicKey },
    },
    publicKey: shop.publicKey,
    platform: [{ serial: publicKeyId, privateKey: platform.privateKey }, certify(certified.privateKey, new Date())],
  };
}

function certify(privateKey: string, now: Date): WechatPayPlatformKey {
  const serial = newSerial();
  const certificate = selfSignedCertificate(createPrivateKey(privateKey), {
    serial,
    commonName: 'Tenpay.com Root CA (simulated)',
    validFrom: new Date(now.getTime() - YEAR_MS),
    validTo: new Date(now.getTime() + YEAR_MS),
  });
  return { serial, privateKey, certificate };
}

/** 20 bytes, as WeChat Pay's are; begins with a digit below 8, as serials are positive numbers. */
function newSerial(): string {
  return `7${randomBytes(20).toString('hex').slice(1)}`.toUpperCase();
}

function generateKeys(): { readonly privateKey: string; readonly publicKey: string } {
  return generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
}

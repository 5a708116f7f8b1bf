import { generateKeyPairSync } from 'node:crypto';

/** A merchant as both sides know it. Keys are PEM. The adapter's options are the first four. */
export interface AlipaySimulatedMerchant {
  readonly appId: string;
  readonly sellerId: string;
  /** The shop's private key. */
  readonly privateKey: string;
  /** What the shop checks Alipay's signatures with. */
  readonly alipayPublicKey: string;
  /** What Alipay checks the shop's signatures with. */
  readonly publicKey: string;
  /** Alipay's private key for this app. */
  readonly alipayPrivateKey: string;
}

/** Merchants by account. A payment without an account belongs to the first. */
export type AlipaySimulatedMerchants = Readonly<Record<string, AlipaySimulatedMerchant>>;

/** Merchants with new RSA keys of 2048 bits; takes about 100 ms for each. */
export function generateAlipayMerchants(accounts: readonly string[] = ['shop']): AlipaySimulatedMerchants {
  return Object.fromEntries(accounts.map((account, index) => [account, generateMerchant(index)]));
}

function generateMerchant(index: number): AlipaySimulatedMerchant {
  const number = String(index + 1).padStart(4, '0');
  const [shop, alipay] = [generateKeys(), generateKeys()];
  return {
    appId: `202100000000${number}`,
    sellerId: `208800000000${number}`,
    privateKey: shop.privateKey,
    alipayPublicKey: alipay.publicKey,
    publicKey: shop.publicKey,
    alipayPrivateKey: alipay.privateKey,
  };
}

function generateKeys(): { readonly privateKey: string; readonly publicKey: string } {
  return generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
}

import { createPublicKey, type KeyObject, createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { InvalidOptionsError } from '../../errors';

/** Alipay uses SHA256withRSA and requires keys of at least 2048 bits. */
const MIN_BITS = 2_048;

const privateKey = z.string().transform(keyReader(readPrivateKey, 'must be an RSA private key of 2048 bits or more'));

const publicKey = z.string().transform(keyReader(readPublicKey, 'must be an RSA public key of 2048 bits or more'));

const merchant = z.strictObject({
  appId: z.string().regex(/^\d{1,32}$/, 'must be the digits of an app id'),
  sellerId: z.string().regex(/^\d{16}$/, "must be the 16 digits of the merchant's Alipay account (2088...)"),
  privateKey,
  alipayPublicKey: publicKey,
});

const schema = z.strictObject({
  name: z.string().min(1).max(64).default('alipay'),
  merchants: z.record(z.string().min(1).max(64), merchant),
  gateway: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
    .default('https://openapi.alipay.com/gateway.do'),
  timeoutMs: z.int().min(1).max(8_000).default(8_000),
});

/** One Alipay merchant. Keys are PEM, or plain base64 as Alipay's key tool and console show them. */
export interface AlipayMerchant {
  /** The app id on the open platform. Unique among the merchants, because notifications are matched by it. */
  readonly appId: string;
  /** The Alipay account that receives the money (PID): 16 digits, usually `2088...`. */
  readonly sellerId: string;
  /** The app's private key, PKCS#8 or PKCS#1. It signs the requests. */
  readonly privateKey: string;
  /** Alipay's public key for this app, not the app's own public key. It verifies answers and notifications. */
  readonly alipayPublicKey: string;
}

/** Options of AlipayProvider. */
export interface AlipayOptions {
  /** Name of the provider, which payment attempts refer to. @default "alipay" */
  readonly name?: string;
  /** Merchants by account. Attempts without an account belong to the only merchant, or to the one called "default". */
  readonly merchants: Readonly<Record<string, AlipayMerchant>>;
  /** URL of the gateway, of the sandbox, or of the simulator. @default "https://openapi.alipay.com/gateway.do" */
  readonly gateway?: string;
  /** Maximum duration of a request in milliseconds, even if its caller gave up. At most 8000. @default 8000 */
  readonly timeoutMs?: number;
}

/** AlipayOptions with all defaults, and with parsed keys. */
type ResolvedAlipayOptions = Readonly<z.output<typeof schema>>;

/** AlipayMerchant with parsed keys. */
export type ResolvedAlipayMerchant = Readonly<z.output<typeof merchant>>;

/** @throws InvalidOptionsError with every invalid option, without keys. */
export function resolveAlipayOptions(options: AlipayOptions): ResolvedAlipayOptions {
  const parsed = schema.safeParse(options);
  const problems = parsed.success
    ? findMixUps(parsed.data.merchants)
    : parsed.error.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`);
  if (!parsed.success || problems.length > 0) throw new InvalidOptionsError('Alipay', problems);
  return Object.freeze(parsed.data);
}

/** Finds values that are well formed but wrong. */
function findMixUps(merchants: ResolvedAlipayOptions['merchants']): string[] {
  const problems: string[] = [];
  const accountOf = new Map<string, string>();
  for (const [account, { appId, privateKey: ours, alipayPublicKey }] of Object.entries(merchants)) {
    const other = accountOf.get(appId);
    if (other !== undefined) problems.push(`merchants.${account}.appId: is also used by merchant "${other}"`);
    accountOf.set(appId, account);
    // The console shows both keys on one page. With the wrong one, every answer would look forged.
    if (createPublicKey(ours).equals(alipayPublicKey)) {
      problems.push(`merchants.${account}.alipayPublicKey: is the app's own public key; use Alipay's`);
    }
  }
  return accountOf.size > 0 ? problems : ['merchants: name at least one'];
}

function keyReader(read: (text: string) => KeyObject | undefined, message: string) {
  return (text: string, context: z.RefinementCtx): KeyObject => {
    const key = read(text);
    if (key) return key;
    context.addIssue({ code: 'custom', message: `${message}, PEM or base64` });
    return z.NEVER;
  };
}

/** Reads an RSA private key: PEM, or plain base64 as Alipay's key tool writes it. Undefined if it is not one. */
function readPrivateKey(text: string): KeyObject | undefined {
  return firstRsa(
    () => createPrivateKey(text),
    () => createPrivateKey({ key: der(text), format: 'der', type: 'pkcs8' }),
    () => createPrivateKey({ key: der(text), format: 'der', type: 'pkcs1' }),
  );
}

/** Reads an RSA public key from PEM, or from plain base64 as Alipay's console shows it. Undefined if it is not one. */
function readPublicKey(text: string): KeyObject | undefined {
  // createPublicKey derives the public half of a private key, but a private key here is a configuration mistake.
  if (text.includes('PRIVATE KEY')) return undefined;
  return firstRsa(
    () => createPublicKey(text),
    () => createPublicKey({ key: der(text), format: 'der', type: 'spki' }),
  );
}

function der(text: string): Buffer {
  return Buffer.from(text, 'base64');
}

function firstRsa(...readers: readonly (() => KeyObject)[]): KeyObject | undefined {
  for (const read of readers) {
    try {
      const key = read();
      if (key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_BITS) return key;
    } catch {
      // Not in this format.
    }
  }
  return undefined;
}

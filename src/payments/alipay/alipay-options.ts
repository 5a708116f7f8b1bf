import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { InvalidOptionsError } from '../../errors';
import { readPrivateKey, readPublicKey } from './rsa-keys';

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

/** One merchant of Alipay. Keys are PEM, or bare base64 as Alipay's key tool and console show them. */
export interface AlipayMerchant {
  /** The app of the open platform. No two merchants may have the same: notifications are told apart by it. */
  readonly appId: string;
  /** The Alipay account that takes the money (PID): 16 digits, mostly `2088...`. */
  readonly sellerId: string;
  /** The app's private key, PKCS#8 or PKCS#1: our requests are signed with it. */
  readonly privateKey: string;
  /** Alipay's public key for this app (not the app's own public key): answers and notifications are checked with it. */
  readonly alipayPublicKey: string;
}

/** Where and for whom AlipayProvider asks. */
export interface AlipayOptions {
  /** What attempts call the provider. @default "alipay" */
  readonly name?: string;
  /** Merchants by account. Attempts without an account belong to the only one, or to the one called "default". */
  readonly merchants: Readonly<Record<string, AlipayMerchant>>;
  /** Another gateway: the sandbox or the simulator. @default "https://openapi.alipay.com/gateway.do" */
  readonly gateway?: string;
  /** When a request dies whose caller is gone, milliseconds, at most 8000. @default 8000 */
  readonly timeoutMs?: number;
}

/** AlipayOptions with every default filled in and every key read. */
export type ResolvedAlipayOptions = Readonly<z.output<typeof schema>>;
/** AlipayMerchant with its keys read. */
export type ResolvedAlipayMerchant = Readonly<z.output<typeof merchant>>;

/** @throws InvalidOptionsError naming every bad option, never a key. */
export function resolveAlipayOptions(options: AlipayOptions): ResolvedAlipayOptions {
  const parsed = schema.safeParse(options);
  const problems = parsed.success
    ? findMixUps(parsed.data.merchants)
    : parsed.error.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`);
  if (!parsed.success || problems.length > 0) throw new InvalidOptionsError('Alipay', problems);
  return Object.freeze(parsed.data);
}

/** What is well formed and still wrong. */
function findMixUps(merchants: ResolvedAlipayOptions['merchants']): string[] {
  const problems: string[] = [];
  const accountOf = new Map<string, string>();
  for (const [account, { appId, privateKey: ours, alipayPublicKey }] of Object.entries(merchants)) {
    const other = accountOf.get(appId);
    if (other !== undefined) problems.push(`merchants.${account}.appId: is also the one of merchant "${other}"`);
    accountOf.set(appId, account);
    // The console shows both keys on one page; with the wrong one every answer would look forged.
    if (createPublicKey(ours).equals(alipayPublicKey)) {
      problems.push(`merchants.${account}.alipayPublicKey: is the app's own public key; give Alipay's`);
    }
  }
  return accountOf.size > 0 ? problems : ['merchants: give at least one'];
}

function keyReader(read: (text: string) => KeyObject | undefined, message: string) {
  return (text: string, context: z.RefinementCtx): KeyObject => {
    const key = read(text);
    if (key) return key;
    context.addIssue({ code: 'custom', message: `${message}, PEM or base64` });
    return z.NEVER;
  };
}

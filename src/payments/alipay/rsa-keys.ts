import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** Alipay signs and takes SHA256withRSA with keys of 2048 bits and more only. */
const MIN_BITS = 2_048;

/** An RSA private key: PEM, or bare base64 as Alipay's key tool writes it (PKCS#8 or PKCS#1). Undefined: it is none. */
export function readPrivateKey(text: string): KeyObject | undefined {
  return firstRsa(
    () => createPrivateKey(text),
    () => createPrivateKey({ key: der(text), format: 'der', type: 'pkcs8' }),
    () => createPrivateKey({ key: der(text), format: 'der', type: 'pkcs1' }),
  );
}

/** An RSA public key: PEM, or bare base64 as Alipay's console shows it. Undefined: it is none. */
export function readPublicKey(text: string): KeyObject | undefined {
  // createPublicKey would make a public key of a private one, which is never what was meant to be configured here.
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

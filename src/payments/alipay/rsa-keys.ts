import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** Alipay uses SHA256withRSA and requires keys of at least 2048 bits. */
const MIN_BITS = 2_048;

/** Reads an RSA private key: PEM, or plain base64 as Alipay's key tool writes it. Undefined if it is not one. */
export function readPrivateKey(text: string): KeyObject | undefined {
  return firstRsa(
    () => createPrivateKey(text),
    () => createPrivateKey({ key: der(text), format: 'der', type: 'pkcs8' }),
    () => createPrivateKey({ key: der(text), format: 'der', type: 'pkcs1' }),
  );
}

/** Reads an RSA public key from PEM, or from plain base64 as Alipay's console shows it. Undefined if it is not one. */
export function readPublicKey(text: string): KeyObject | undefined {
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

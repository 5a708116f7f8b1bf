import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { PlatformKeys } from './platform-keys';

/** Parse the keys of a merchant. Error messages must not contain a key. */
export const keySchemas = {
  privateKey: z.string().transform((pem, context) => {
    const key = attempt(() => createPrivateKey(pem));
    if (key?.asymmetricKeyType === 'rsa') return key;
    context.issues.push({ code: 'custom', message: 'must be an RSA private key in PEM format', input: undefined });
    return z.NEVER;
  }),
  apiV3Key: z
    .string()
    .refine((key) => Buffer.byteLength(key) === 32, 'must be 32 bytes')
    .transform((key) => createSecretKey(Buffer.from(key))),
  platformKeys: z.record(z.string().min(1), z.string()).transform((given, context) => {
    const keys: [string, KeyObject][] = [];
    for (const [serial, pem] of Object.entries(given)) {
      const key = readPlatformKey(serial, pem);
      if (typeof key !== 'string') keys.push([serial, key]);
      else context.issues.push({ code: 'custom', message: key, input: undefined, path: [serial] });
    }
    if (Object.keys(given).length > 0) return new PlatformKeys(keys);
    const message = 'give at least one key, by PUB_KEY_ID_… or by the serial of a platform certificate';
    context.issues.push({ code: 'custom', message, input: undefined });
    return z.NEVER;
  }),
};

/** Returns the key, or what is wrong with it. */
function readPlatformKey(serial: string, pem: string): KeyObject | string {
  // Node would derive the public half, and the merchant's own key would be used as WeChat Pay's.
  if (pem.includes('PRIVATE KEY')) return 'must be a public key or a certificate, not a private key';
  const certificate = pem.includes('BEGIN CERTIFICATE') ? attempt(() => new X509Certificate(pem)) : undefined;
  const key = attempt(() => certificate?.publicKey ?? createPublicKey(pem));
  if (key?.asymmetricKeyType !== 'rsa') return 'must be an RSA public key or a certificate in PEM format';
  if (!certificate || certificate.serialNumber.toUpperCase() === serial.toUpperCase()) return key;
  return `is the certificate ${certificate.serialNumber}; use that serial as its name`;
}

function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

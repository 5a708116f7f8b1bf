import { createCipheriv, randomBytes } from 'node:crypto';

/** What only the shop can read: AES-256-GCM with its APIv3 key, the tag at the end. */
export function sealForShop(plaintext: string, apiV3Key: string, about: string): Readonly<Record<string, string>> {
  const nonce = randomBytes(6).toString('hex');
  const cipher = createCipheriv('aes-256-gcm', apiV3Key, nonce).setAAD(Buffer.from(about));
  const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return { algorithm: 'AEAD_AES_256_GCM', nonce, associated_data: about, ciphertext: sealed.toString('base64') };
}

import { createDecipheriv, type KeyObject } from 'node:crypto';
import { z } from 'zod';

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

import { createSign, createVerify } from 'node:crypto';

/** What is signed of parameters: `name=value` sorted by name, joined by `&`, nothing escaped. */
export function signedText(params: Readonly<Record<string, string>>, unsigned: readonly string[]): string {
  const names = Object.keys(params).filter((name) => !unsigned.includes(name));
  return names
    .sort()
    .map((name) => `${name}=${params[name] ?? ''}`)
    .join('&');
}

/** RSA2: SHA256withRSA in base64. */
export function signRsa2(text: string, privateKey: string): string {
  return createSign('sha256').update(text, 'utf8').sign(privateKey, 'base64');
}

/** Whether the owner of the public key signed the text. */
export function isRsa2Signed(text: string, signature: string, publicKey: string): boolean {
  return createVerify('sha256').update(text, 'utf8').verify(publicKey, signature, 'base64');
}

import { type NotificationPost } from './protocol';

/** Seen from the end: inside a hex digest, and before the padding of base64, whose last bits may mean nothing. */
const FORGED_DIGIT = -8;

/** The same post with a signature that does not fit: one digit of it, in a header or in the form field `sign`. */
export function forge({ headers, body }: NotificationPost): NotificationPost {
  const forged = Object.entries(headers).map(([name, value]) =>
    /signature$/i.test(name) ? [name, withOtherDigit(value)] : [name, value],
  );
  return { headers: Object.fromEntries(forged) as Record<string, string>, body: withForgedField(body) };
}

function withForgedField(body: string): string {
  if (!/(^|&)sign=/.test(body)) return body;
  const form = new URLSearchParams(body);
  form.set('sign', withOtherDigit(form.get('sign') ?? ''));
  return form.toString();
}

/** `0` and `1` are digits of both hex and base64. */
function withOtherDigit(signature: string): string {
  const at = Math.max(0, signature.length + FORGED_DIGIT);
  return `${signature.slice(0, at)}${signature[at] === '0' ? '1' : '0'}${signature.slice(at + 1)}`;
}

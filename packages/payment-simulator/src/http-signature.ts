import { createHmac } from 'node:crypto';

/**
 * `x-signature` of the HTTP payment provider (docs/http-provider.md): lower-case hex. It is written from that page and
 * not shared with HttpPaymentProvider, so that a mistake on one side shows.
 *
 * @param lines epoch seconds, then `METHOD path?query`, then the nonce of a request or the HTTP status of an answer
 */
export function httpSignature(
  secret: string,
  lines: readonly [timestamp: string, requestLine: string, nonceOrStatus: string],
  body: string | Uint8Array,
): string {
  return createHmac('sha256', secret)
    .update(`${lines.join('\n')}\n`)
    .update(body)
    .digest('hex');
}

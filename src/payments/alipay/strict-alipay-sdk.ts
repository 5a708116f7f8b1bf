import { isDeepStrictEqual } from 'node:util';
import { AlipaySdk } from 'alipay-sdk';
import { z } from 'zod';
import { UntrustedAnswerError } from './untrusted-answer-error';

/** The codes of an unsigned refusal. Shown to the operator, but not trusted. */
const claim = z.object({ code: z.string().max(8), sub_code: z.string().max(64).default('') });

/**
 * The SDK with a strict signature check. The SDK finds the signed text by searching for names, but returns what
 * JSON.parse finds: of `{"x_response":{A},"sign":"...","x_response":{B}}` it checks A and returns B.
 */
export class StrictAlipaySdk extends AlipaySdk {
  /** @throws UntrustedAnswerError unless the returned content is exactly what Alipay signed. */
  override checkResponseSign(raw: string, responseKey: string, sign: string, traceId: string): void {
    const body = parse(raw) ?? {};
    // Some refusals are unsigned, for example the one for a wrong app id.
    if (typeof sign !== 'string' || sign === '') {
      const { data } = claim.safeParse(body[responseKey] ?? body['error_response']);
      throw new UntrustedAnswerError(`it is not signed${data ? ` (it says ${data.code} ${data.sub_code})` : ''}`);
    }
    try {
      super.checkResponseSign(raw, responseKey, sign, traceId);
    } catch {
      // The SDK's message quotes the whole answer, including data about the buyer.
      throw new UntrustedAnswerError('its signature is wrong');
    }
    if (!isDeepStrictEqual(parse(this.getSignStr(raw, responseKey)), body[responseKey])) {
      throw new UntrustedAnswerError('the signed text differs from the returned content');
    }
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

import { z } from 'zod';
import { type PaymentEvidence, type UnknownOutcome } from '../payment-outcome';
import { type HttpAnswer, type HttpExchange } from './http-exchange';
import { isFreshTimestamp, isSameSignature, signHttpResponse } from './http-message-signature';

/** An answer that was signed by the provider and belongs to this request. Its content is not interpreted yet. */
export interface VerifiedAnswer {
  readonly type: 'VERIFIED';
  readonly httpStatus: number;
  readonly body: PaymentEvidence;
  /** The time by the provider's clock. */
  readonly now: Date;
  readonly evidence: PaymentEvidence;
}

const echo = z.looseObject({
  reference: z.string(),
  nonce: z.string(),
  merchantAccount: z.string().nullable(),
  now: z.iso.datetime(),
});

/** Checks signature, age, and echoed fields. If one check fails, the answer is UNKNOWN, whatever its body says. */
export function verifyAnswer(
  exchange: HttpExchange,
  answer: HttpAnswer,
  nowMs: number,
): VerifiedAnswer | UnknownOutcome {
  const { status, timestamp, signature, body } = answer;
  if (timestamp === null || signature === null) return unverified(answer, 'it is not signed');
  const expected = signHttpResponse(exchange.secret, { ...exchange, timestamp, status, body });
  if (!isSameSignature(expected, signature)) return unverified(answer, 'its signature is wrong');
  if (!isFreshTimestamp(timestamp, nowMs))
    return unverified(answer, `its timestamp ${timestamp} is too far from this machine's clock`);
  const parsed = echo.safeParse(parseJson(body));
  if (!parsed.success) return unverified(answer, 'its body does not have the documented format');
  const mismatch = findMismatch(exchange, parsed.data);
  if (mismatch) return unverified(answer, `it answers another request (${mismatch})`);
  const evidence = { httpStatus: status, timestamp, body: parsed.data };
  return { type: 'VERIFIED', httpStatus: status, body: parsed.data, now: new Date(parsed.data.now), evidence };
}

function findMismatch({ attempt, nonce }: HttpExchange, body: z.output<typeof echo>): string | undefined {
  if (body.reference !== attempt.reference) return 'reference';
  if (body.nonce !== nonce) return 'nonce';
  return body.merchantAccount === (attempt.merchantAccount ?? null) ? undefined : 'merchant account';
}

function unverified(answer: HttpAnswer, why: string): UnknownOutcome {
  return { type: 'UNKNOWN', reason: `answer with status ${answer.status} is not trusted: ${why}`, untrusted: true };
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return undefined;
  }
}

import { createHmac, timingSafeEqual } from 'node:crypto';
import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { z } from 'zod';
import { parseJson } from '../../errors';
import { type PaymentEvidence, type UnknownOutcome, type PaymentAttemptRef, untrusted } from '../payment-provider';

export const SIGNATURE_HEADERS = { signature: 'x-signature', timestamp: 'x-timestamp', nonce: 'x-nonce' } as const;

/** Signed messages that differ by more from our clock are rejected. WeChat Pay and Stripe use the same limit. */
export const MAX_SKEW_SECONDS = 300;

interface SignedExchange {
  readonly timestamp: string;
  readonly method: string;
  /** Path with the query string, as in the request line. */
  readonly path: string;
  readonly body: Uint8Array;
}

/** Hex HMAC-SHA256 over `timestamp \n method path \n nonce \n body`. */
export function signHttpRequest(secret: string, message: SignedExchange & { readonly nonce: string }): string {
  return sign(secret, message, message.nonce);
}

/** Hex HMAC-SHA256 over `timestamp \n method path \n status \n body`. */
export function signHttpResponse(secret: string, message: SignedExchange & { readonly status: number }): string {
  return sign(secret, message, String(message.status));
}

/** Compares in constant time, so an attacker cannot find a signature digit by digit. */
export function isSameSignature(expected: string, given: string): boolean {
  const left = Buffer.from(expected);
  const right = Buffer.from(given);
  return left.length === right.length && timingSafeEqual(left, right);
}

/** True for epoch seconds within MAX_SKEW_SECONDS of `nowMs` (epoch milliseconds). */
export function isFreshTimestamp(timestamp: string, nowMs: number): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(Number(timestamp) - nowMs / 1_000) <= MAX_SKEW_SECONDS;
}

function sign(secret: string, { timestamp, method, path, body }: SignedExchange, third: string): string {
  return createHmac('sha256', secret).update(`${timestamp}\n${method} ${path}\n${third}\n`).update(body).digest('hex');
}

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
  const parsed = echo.safeParse(parseJson(Buffer.from(body)));
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
  return untrusted(`answer with status ${answer.status} is not trusted: ${why}`);
}

/** Connections are kept alive, because a handshake costs more than the request itself. */
const HTTP = new HttpAgent({ keepAlive: true, scheduling: 'lifo' });
const HTTPS = new HttpsAgent({ keepAlive: true, scheduling: 'lifo' });

/** `kept`: an idle kept-alive connection if there is one. `new`: always a new connection. */
export type Connection = 'kept' | 'new';

interface SendOptions {
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
  readonly connection: Connection;
}

/** The answer as received. Redirects are not followed: the answer must come from the configured address. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Undefined if it is longer than allowed; the rest is not downloaded. */
  readonly body: Uint8Array | undefined;
}

/** The server closed the kept-alive connection just as it was used. Most likely it has not read the request. */
export class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError';
}

/**
 * Sends one request by node:http. The global fetch takes twice the CPU, and any package of the host may replace it.
 * Event listeners instead of `signal` and an iterator over the body take another third less.
 *
 * @throws StaleConnectionError if the request must be repeated over a new connection; otherwise the network error
 */
export function sendHttpRequest(
  { method, url, requestBody }: HttpExchange,
  headers: Readonly<Record<string, string>>,
  { connection, signal, maxBodyBytes }: SendOptions,
): Promise<HttpResponse> {
  const isTls = url.protocol === 'https:';
  const kept = isTls ? HTTPS : HTTP;
  const send = isTls ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, { method, headers, agent: connection === 'kept' && kept });
    const abort = (): void => void request.destroy(new Error('aborted'));
    let isAnswered = false;
    request.on('response', (response) => {
      isAnswered = true;
      const { statusCode: status = 0, headers: answered } = response;
      readBoundedBody(response, maxBodyBytes).then((body) => resolve({ status, headers: answered, body }), reject);
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && error.code === 'ECONNRESET';
      reject(isStale ? new StaleConnectionError('the kept connection was closed', { cause: error }) : error);
    });
    request.on('close', () => {
      signal.removeEventListener('abort', abort);
      // An unrequested protocol upgrade closes the connection without a response or an error.
      if (!isAnswered) reject(new Error('the connection was closed without an answer'));
    });
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    request.end(requestBody);
  });
}

function readBoundedBody(response: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    response.on('data', (chunk: Uint8Array) => {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size <= maxBytes) return;
      resolve(undefined);
      response.destroy();
    });
    response.on('end', () => resolve(Buffer.concat(chunks, size)));
    response.on('error', reject);
    response.on('close', () => reject(new Error('the connection was closed in the middle of the answer')));
  });
}

export interface HttpExchange {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Path with the query string, as it is signed. */
  readonly path: string;
  readonly secret: string;
  /** Random. The answer repeats it, so an old answer cannot be replayed. */
  readonly nonce: string;
  readonly attempt: PaymentAttemptRef;
  readonly requestBody: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly timestamp: string | null;
  readonly signature: string | null;
  readonly body: Uint8Array;
}

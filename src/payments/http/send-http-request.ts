import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type PaymentAttemptRef } from '../payment-provider';

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

/** One request to the provider, with everything that its answer must match. */
export interface HttpExchange {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /** Path with the query string, as it is signed. */
  readonly path: string;
  readonly secret: string;
  /** Random. The answer repeats it, so an old answer cannot be replayed. */
  readonly nonce: string;
  readonly attempt: PaymentAttemptRef;
  /** JSON, or empty. */
  readonly requestBody: string;
}

/** The answer before it is verified. */
export interface HttpAnswer {
  readonly status: number;
  readonly timestamp: string | null;
  readonly signature: string | null;
  readonly body: Uint8Array;
}

/** Longer waits are cut to this: the header is not signed, so a proxy could delay an order for hours. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Milliseconds of a Retry-After header (seconds or an HTTP date); undefined if it is missing or invalid. */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

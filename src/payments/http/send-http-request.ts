import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type HttpExchange } from './http-exchange';

/** Connections are kept: a handshake for each question costs more than the question. */
const HTTP = new HttpAgent({ keepAlive: true, scheduling: 'lifo' });
const HTTPS = new HttpsAgent({ keepAlive: true, scheduling: 'lifo' });

/** How a request goes: over a kept connection if there is one, or certainly over a new one. */
export type Connection = 'kept' | 'new';

interface SendOptions {
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
  readonly connection: Connection;
}

/** An answer as it came. A redirect is an answer too: one of another address is not the one that was asked for. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Undefined when it is longer than allowed; the rest is not downloaded then. */
  readonly body: Uint8Array | undefined;
}

/** The kept connection was closed by the other side just as it was used: most likely nobody has read the request. */
export class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError';
}

/**
 * Sends one request by node:http and not by the global fetch, which takes twice the CPU, and which any package of the host
 * may replace. Event listeners and not `signal` and an iterator of the body: a third less again.
 *
 * @throws StaleConnectionError when it has to be asked again, over a new connection; or why there is no answer
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
      // An upgrade that nobody asked for ends without a word.
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

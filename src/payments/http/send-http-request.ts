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
 * Sends one request by node:http and not by the global fetch, which takes twice the CPU, and which any package of
 * the host may replace.
 *
 * @throws StaleConnectionError when it has to be asked again, over a new connection; or why there is no answer
 */
export async function sendHttpRequest(
  exchange: HttpExchange,
  headers: Readonly<Record<string, string>>,
  options: SendOptions,
): Promise<HttpResponse> {
  const response = await responseTo(exchange, headers, options);
  const body = await readBoundedBody(response, options.maxBodyBytes);
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

function responseTo(
  { method, url, requestBody }: HttpExchange,
  headers: Readonly<Record<string, string>>,
  { signal, connection }: SendOptions,
): Promise<IncomingMessage> {
  const isTls = url.protocol === 'https:';
  const send = isTls ? httpsRequest : httpRequest;
  const kept = isTls ? HTTPS : HTTP;
  return new Promise((resolve, reject) => {
    const request = send(url, { method, headers, signal, agent: connection === 'kept' && kept }, resolve);
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && error.code === 'ECONNRESET';
      reject(isStale ? new StaleConnectionError('the kept connection was closed', { cause: error }) : error);
    });
    request.end(requestBody);
  });
}

async function readBoundedBody(response: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early destroys the stream, which closes the connection.
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

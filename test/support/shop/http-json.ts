import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { stretched } from '../machine-load';

/** An answer as it came. */
export interface JsonAnswer {
  readonly status: number;
  readonly text: string;
}

const LIMIT_MS = 20_000;

/** One request with a JSON body, or with a body as it is. Without keep-alive: an idle socket would be a leak to jest. */
export function httpJson(
  method: string,
  url: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
  limitMs = LIMIT_MS,
): Promise<JsonAnswer> {
  const given = { 'content-type': 'application/json', ...headers };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: given, agent: false, timeout: stretched(limitMs) }, (response) => {
      text(response).then((answer) => resolve({ status: response.statusCode ?? 0, text: answer }), reject);
    });
    sent.on('error', reject);
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${url}: no answer`)));
    sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  });
}

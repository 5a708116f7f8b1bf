import { API_KEY } from './shop.module.js';

/** What the shop answered. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

/** Requests to the routes below `base`. A text is sent as it is. */
export function shopClient(base: string): Call {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(base + path, {
      method,
      headers: {
        'x-api-key': API_KEY,
        connection: 'close',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const type = response.headers.get('content-type') ?? '';
    return { status: response.status, type, text: await response.text() };
  };
}

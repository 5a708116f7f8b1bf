import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type BuiltFile } from '../support/built-operator-page';
import { type RecordedApi } from './recorded-api';

/** The headers that the service sends with every file of the page. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

/** A path that nobody would guess: the page must not depend on it. */
export const BASE = '/some/where/operator/';

const TYPES: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', css: 'text/css' };

/** Serves the built page, and answers its API from recorded data. */
export class PageServer {
  private server: Server | undefined;

  constructor(
    private readonly files: readonly BuiltFile[],
    readonly api: RecordedApi,
  ) {}

  async start(): Promise<string> {
    const server = createServer((request, response) => void this.answer(request, response));
    this.server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((resolve) => this.server?.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    response.setHeader('date', new Date(this.api.now).toUTCString());
    if (url.pathname.startsWith(`${BASE}api/`)) {
      const body = await text(request);
      const { status, json } = await this.api.answer({
        method: request.method ?? 'GET',
        path: url.pathname.slice(`${BASE}api/`.length),
        query: url.searchParams,
        csrf: request.headers['x-csrf-token'],
        body: body === '' ? undefined : (JSON.parse(body) as Record<string, unknown>),
      });
      response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
      response.end(json === undefined ? undefined : JSON.stringify(json));
      return;
    }
    this.serve(url.pathname.slice(BASE.length) || 'index.html', response);
  }

  private serve(name: string, response: ServerResponse): void {
    const file = this.files.find((one) => one.name === name);
    if (!file) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      ...PAGE_HEADERS,
      'content-type': `${TYPES[name.split('.').at(-1) ?? '']}; charset=utf-8`,
    });
    response.end(file.content);
  }
}

import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { reject } from '../../../src/api/input';
import { SystemClock } from '../../../src/clock';
import { newOrderSchema } from '../../../src/orders/input';
import { orderEvent } from '../../../src/orders/model/transition';
import { isSameSignature, signHttpRequest, signHttpResponse } from '../../../src/payments/http/http-exchange';
import { loadPaymentProviders, loadWebhooks } from '../../../src/service/load-payment-providers';
import { placeOf, readSnippets, type Snippet } from '../../support/snippets';
import { order } from '../orders/orders';

/** What reads the snippets of a language. Diagrams are compared by test/unit/diagrams, output is only shown. */
const READERS: Readonly<Record<string, string>> = {
  ts: 'typescript-snippets.spec.ts',
  sh: 'shell-snippets.spec.ts',
  js: 'test/hosts/newcomer',
  sql: 'test/integration/docs/sql-snippets.spec.ts',
  json: 'here',
  http: 'here',
  yaml: 'test/unit/observability/monitoring-page.spec.ts',
  mermaid: 'GitHub',
  text: 'nobody',
};

const bodyOf = (snippet: Snippet): unknown => JSON.parse(snippet.text);

/** Checks the body of each JSON snippet by what reads such a body. */
const BODIES: Readonly<Record<string, (body: unknown) => void>> = {
  'docs/amqp.md': (body) => {
    if ('error' in (body as object)) return expect(body).toEqual({ error: outOfStock() });
    const details = { reason: 'expired', cause: 'message' };
    const event = orderEvent('order.closed', order(), 2, new Date(), details).body as object;
    const shown = body as Record<string, unknown>;
    expect(Object.keys(shown)).toEqual(Object.keys(event));
    const types = (one: object) => Object.values(one).map((value) => typeof value);
    expect(types(shown)).toEqual(types(event));
  },
  'docs/configuration.md': (body) => expect(loadProviders(body)).toEqual(['alipay']),
  'docs/webhooks.md': (body) => expect(loadEndpoints(body)).toEqual(['crm']),
  'docs/http-api.md': (body) => expect(newOrderSchema.safeParse(body).error).toBeUndefined(),
};

/** What the sender of an order is told if there is not enough stock. */
function outOfStock(): object {
  const shortages = [{ sku: 'apple', wanted: 5, available: 3 }];
  const { rejection, reason, details } = reject('o-1', { code: 'OUT_OF_STOCK', shortages });
  return { ...details, code: rejection, message: reason };
}

/** The names of the providers that the service makes of the file, with keys where it names key files. */
function loadProviders(file: unknown): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'ot-snippet-'));
  try {
    for (const [path, type] of [
      ['keys/alipay-app.pem', 'pkcs8'],
      ['keys/alipay.pem', 'spki'],
    ] as const) {
      const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      const key =
        type === 'spki' ? publicKey.export({ type, format: 'pem' }) : privateKey.export({ type, format: 'pem' });
      writeFileSync(join(folder, path), key);
    }
    writeFileSync(join(folder, 'providers.json'), JSON.stringify(file));
    return loadPaymentProviders(join(folder, 'providers.json'), new SystemClock()).providers.map(({ name }) => name);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The names of the endpoints that the service makes of the file, with a secret where it names one. */
function loadEndpoints(file: unknown): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'ot-snippet-'));
  try {
    const webhooksFile = join(folder, 'webhooks.json');
    mkdirSync(join(folder, 'keys'));
    writeFileSync(join(folder, 'keys/crm.txt'), `whsec_${Buffer.alloc(32).toString('base64')}`);
    writeFileSync(webhooksFile, JSON.stringify(file));
    return loadWebhooks({ webhook: undefined, webhooksFile })?.endpoints.map(({ name }) => name) ?? [];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the snippets of the documentation', () => {
  it('are all in a language that a test reads', () => {
    const unread = readSnippets().filter(({ language }) => READERS[language] === undefined);
    expect(unread.map(placeOf)).toEqual([]);
  });

  it('in JavaScript are in README.md only, whose snippets are all run', () => {
    expect(readSnippets('js').map(({ page }) => page)).toEqual(['README.md']);
  });

  it.each(readSnippets('json').map((snippet) => [placeOf(snippet), snippet] as const))(
    'are bodies that the service takes or sends: %s',
    (_, snippet) => {
      const check = BODIES[snippet.page];
      if (!check) throw new Error(`no test knows the JSON of ${snippet.page}`);
      check(bodyOf(snippet));
    },
  );

  it('are messages with the signatures that HttpPaymentProvider sends and expects', () => {
    const [request, response] = readSnippets('http').map(({ text }) => readMessage(text));
    if (!request || !response) throw new Error('there are not two messages');
    const [method = '', path = ''] = request.start.split(' ');
    const { 'x-timestamp': timestamp = '', 'x-nonce': nonce = '', 'x-signature': signature = '' } = request.headers;
    const asked = { timestamp, method, path, nonce, body: new Uint8Array() };
    const secret = 'example-secret-0123456789';
    expect(isSameSignature(signHttpRequest(secret, asked), signature)).toBe(true);
    const answered = { timestamp, method, path, status: 200, body: Buffer.from(response.body) };
    expect(isSameSignature(signHttpResponse(secret, answered), response.headers['x-signature'] ?? '')).toBe(true);
  });
});

function readMessage(text: string): { start: string; headers: Record<string, string>; body: string } {
  const [head = '', body = ''] = text.split('\n\n');
  const [start = '', ...lines] = head.trim().split('\n');
  return {
    start,
    headers: Object.fromEntries(lines.map((line) => line.split(': '))) as Record<string, string>,
    body: body.trim(),
  };
}

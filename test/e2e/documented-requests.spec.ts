import { placeOf, readSnippets, type Snippet } from '../support/snippets';
import { type Method, openService, type RunningService } from './running-service';

/** Codes of requests that are right and meet nothing: the orders and payments of the pages do not exist here. */
const MEETS_NOTHING = ['ORDER_NOT_FOUND', 'UNMATCHED_PAYMENT_NOT_FOUND'];

interface DocumentedRequest {
  readonly method: Method;
  readonly path: string;
  readonly body: string | undefined;
}

/** The request of a `curl` command; undefined: the snippet has none. */
function requestIn({ text }: Snippet): DocumentedRequest | undefined {
  const [command] = /^curl .*$/m.exec(text.replace(/\\\n/g, ' ')) ?? [];
  if (command === undefined) return undefined;
  const [, url = ''] = /http:\/\/127\.0\.0\.1:3000([^\s']*)/.exec(command) ?? [];
  const [, body] = /-d '([^']*)'/.exec(command) ?? [];
  const method = command.includes('-X POST') ? 'post' : 'get';
  return { method, path: url.replace('<id>', '00000000-0000-4000-8000-000000000000'), body };
}

describe('requests in the documentation', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());

  const requests = readSnippets('sh').flatMap((snippet) => {
    const request = requestIn(snippet);
    return request ? [[placeOf(snippet), request] as const] : [];
  });

  it('are on several pages', () => expect(requests.length).toBeGreaterThan(5));

  it.each(requests)('are understood: %s', async (_, { method, path, body }) => {
    const given = body === undefined ? undefined : (JSON.parse(body) as object);
    const answer = await service.call(method, path, given);
    if (answer.status >= 400) expect(MEETS_NOTHING).toContain(answer.body.code);
  });

  it('place the order of the HTTP page once its goods are in stock', async () => {
    const [snippet] = readSnippets('json').filter(({ page }) => page === 'docs/http-api.md');
    if (!snippet) throw new Error('docs/http-api.md shows no order');
    await service.call('put', '/inventory/apple', { onHand: 10 }).expect(200);
    await service.call('post', '/orders', JSON.parse(snippet.text) as object).expect(201);
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DOCS } from '../../packages/contract/src/contract-files';
import { openService, type RunningService } from './running-service';

const read = (name: string): unknown => JSON.parse(readFileSync(join(DOCS, name), 'utf8'));

describe('the documents that the service serves', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());

  const open = (path: string) => service.call('get', path, undefined, null).expect(200);

  it.each(['openapi.json', 'asyncapi.json'])('are those of the repository, without a key: %s', async (name) => {
    expect((await open(`/${name}`)).body).toEqual(read(name));
  });

  it.each(['/docs', '/docs/'])('can be tried at %s, whose links are relative', async (path) => {
    const { text, headers } = await open(path);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain("default-src 'self'");
    const links = [...text.matchAll(/(?:src|href|data-document)="(\.[^"]+)"/g)].map(([, link = '']) => link);
    expect(links).toHaveLength(4);
    for (const link of links) await open(new URL(link, `http://service${path}`).pathname);
  });

  it.each([
    ['swagger-ui.css', 'text/css'],
    ['swagger-ui-bundle.js', 'text/javascript'],
    ['try.js', 'text/javascript'],
  ])('have their page’s file %s', async (name, type) => {
    const { headers } = await open(`/docs/${name}`);
    expect(headers['content-type']).toBe(`${type}; charset=utf-8`);
  });

  it.each(['/docs/package.json', '/docs/..%2fpackage.json', '/docs/index.html'])('have no file %s', async (path) => {
    const { status, body } = await service.call('get', path, undefined, null);
    expect({ status, code: body.code }).toEqual({ status: 404, code: 'ROUTE_NOT_FOUND' });
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadWebhooks } from '../../../src/service/load-payment-providers';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const webhook = { url: 'https://shop.example/hook', secrets: [SECRET] };

describe('the webhooks of the service', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ot-webhooks-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function load(content: unknown, given?: typeof webhook) {
    const webhooksFile = join(folder, 'webhooks.json');
    writeFileSync(webhooksFile, typeof content === 'string' ? content : JSON.stringify(content));
    return loadWebhooks({ webhook: given, webhooksFile });
  }

  it('are none by default, and one endpoint by the environment alone', () => {
    expect(loadWebhooks({ webhook: undefined, webhooksFile: undefined })).toBeUndefined();
    expect(loadWebhooks({ webhook, webhooksFile: undefined })).toEqual({
      endpoints: [{ name: 'default', ...webhook }],
    });
  });

  it('come from the file, with secrets in files beside it, together with that of the environment', () => {
    writeFileSync(join(folder, 'crm.txt'), `${SECRET}\n`);
    const crm = { name: 'crm', url: 'https://crm.example', secrets: ['file:crm.txt'], events: ['order.paid'] };
    expect(load({ endpoints: [crm], timeoutMs: 20_000 }, webhook)).toEqual({
      endpoints: [
        { ...crm, secrets: [SECRET] },
        { name: 'default', ...webhook },
      ],
      timeoutMs: 20_000,
    });
  });

  it.each([
    ['no JSON', `{"endpoints": [{"secrets": ["${SECRET}"`, /INVALID_OPTIONS: WEBHOOKS_FILE: .*it is not valid JSON/],
    ['a list', [], /WEBHOOKS_FILE: .*must be an object/],
    [
      'a wrong endpoint',
      { endpoints: [{ name: 'crm', url: 'http://crm.example', secrets: ['x'] }] },
      /url must be an https/,
    ],
    [
      'a missing file',
      { endpoints: [{ name: 'crm', url: 'https://a.example', secrets: ['file:no.txt'] }] },
      /no such file/,
    ],
  ])('are refused: %s', (_, content, message) => {
    expect(() => load(content)).toThrow(message);
  });

  it('never quote a secret', () => {
    const read = (): string => {
      try {
        load(`{"endpoints": [{"secrets": ["${SECRET}"`);
        return '';
      } catch (error) {
        return String(error);
      }
    };
    expect(read()).not.toContain(SECRET);
  });
});

import { gzipSync } from 'node:zlib';
import { type BuiltFile, builtOperatorPage } from '../../support/built-operator-page';

/** What a browser loads before it shows anything, zipped. */
const MAX_BYTES = 100_000;

describe('the built operator page', () => {
  let files: BuiltFile[];
  const textOf = (end: string): string => files.find(({ name }) => name.endsWith(end))?.content.toString() ?? '';

  beforeAll(() => {
    files = builtOperatorPage();
  });

  it('is less than 100 kB at the first paint', () => {
    const bytes = files.reduce((sum, { content }) => sum + gzipSync(content).length, 0);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });

  it('names its script and its styles by their content, so that a browser may keep them', () => {
    const names = files.map(({ name }) => name).sort();
    expect(names).toEqual([
      expect.stringMatching(/^app-[A-Z0-9]{8}\.(css|js)$/),
      expect.stringMatching(/^app-[A-Z0-9]{8}\.(css|js)$/),
      'index.html',
    ]);
    for (const name of names.slice(0, 2)) expect(textOf('index.html')).toContain(`"./${name}"`);
  });

  it('loads nothing from elsewhere, and nothing from the root of the host', () => {
    const addresses = [...textOf('index.html').matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
    expect(addresses.filter((address) => !/^(\.\/|data:)/.test(address ?? ''))).toEqual([]);
    expect(textOf('.css')).not.toMatch(/url\(|@import/);
    expect(textOf('.js')).not.toMatch(/https?:\/\/(?!www\.w3\.org\/)/);
  });

  it('has no script and no style that a strict content security policy refuses', () => {
    const index = textOf('index.html');
    expect(index).not.toMatch(/<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)/);
    expect(textOf('.js')).not.toMatch(/\beval\(|new Function\(|setAttribute\("style"/);
  });
});

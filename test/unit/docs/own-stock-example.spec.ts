import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSnippets, REPOSITORY } from '../../support/snippets';

describe('the example of docs/listeners.md, "Keep stock in your own table"', () => {
  const texts = readSnippets('ts')
    .filter(({ page }) => page === 'docs/listeners.md')
    .map(({ text }) => text);

  it('is examples/own-stock/shop.module.ts, which runs in the integration tests', () => {
    expect(texts).toContain(readFileSync(join(REPOSITORY, 'examples/own-stock/shop.module.ts'), 'utf8'));
  });
});

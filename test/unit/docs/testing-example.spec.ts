import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSnippets, REPOSITORY } from '../../support/snippets';

describe('the example of docs/testing.md', () => {
  const texts = readSnippets('ts')
    .filter(({ page }) => page === 'docs/testing.md')
    .map(({ text }) => text);

  it.each(['shop.module.ts', 'checkout.spec.ts'])('is %s, which runs in the integration tests', (name) => {
    expect(texts).toContain(readFileSync(join(REPOSITORY, 'examples/testing', name), 'utf8'));
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSnippets, REPOSITORY } from '../../support/snippets';

describe('the example of docs/tracing.md', () => {
  const texts = readSnippets('ts')
    .filter(({ page }) => page === 'docs/tracing.md')
    .map(({ text }) => text);

  it.each(['tracing.ts', 'order-watch.ts'])('has %s as the end-to-end tests run it', (name) => {
    expect(texts).toContain(readFileSync(join(REPOSITORY, 'examples/tracing', name), 'utf8'));
  });
});

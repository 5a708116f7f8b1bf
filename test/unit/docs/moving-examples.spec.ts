import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSnippets, REPOSITORY } from '../../support/snippets';

const FOLDER = join(REPOSITORY, 'examples/moving');

describe('the functions of docs/moving', () => {
  const texts = readSnippets('ts')
    .filter(({ page }) => page.startsWith('docs/moving/'))
    .map(({ text }) => text);

  it.each(readdirSync(FOLDER))('are the tested ones: %s', (name) => {
    expect(texts).toContain(readFileSync(join(FOLDER, name), 'utf8'));
  });
});

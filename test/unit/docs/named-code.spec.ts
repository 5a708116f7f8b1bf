import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const REPOSITORY = join(__dirname, '..', '..', '..');

/** Classes and their members, such as `OrderStore.apply`. */
const NAMES = /`((?:[A-Z][a-z]+){2,}(?:\.[a-z]\w*)?)`/g;

function sources(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
}

describe('docs/architecture.md', () => {
  it('names no class and no method that the code does not have', () => {
    const code = sources(join(REPOSITORY, 'src'));
    const page = readFileSync(join(REPOSITORY, 'docs', 'architecture.md'), 'utf8');
    const names = [...page.matchAll(NAMES)].map(([, name = '']) => name);
    const isThere = (name: string): boolean => name.split('.').every((part) => new RegExp(`\\b${part}\\b`).test(code));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !isThere(name))).toEqual([]);
  });
});

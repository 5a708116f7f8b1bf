import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WEAKNESSES } from '../../simulation/weaknesses';

const SOURCES = join(__dirname, '..', '..', '..', 'src');

describe('the weaknesses of the simulation', () => {
  const patches = WEAKNESSES.flatMap(({ name, patches: own }) => own.map((one) => ({ name, ...one })));

  it.each(patches)('$name: what is patched is there once in $file', ({ file, find, replace }) => {
    const text = readFileSync(join(SOURCES, file), 'utf8');
    expect(text.split(find)).toHaveLength(2);
    expect(replace).not.toBe(find);
  });

  it('have names of their own, and a fragment for a table', () => {
    const names = WEAKNESSES.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
    for (const { says } of WEAKNESSES) expect(says.length).toBeLessThanOrEqual(100);
    for (const { says } of WEAKNESSES) expect(says).not.toMatch(/\.$/);
  });
});

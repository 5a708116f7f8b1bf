import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOOKS } from '../faults/campaign/build/crash-points';
import { SAFETIES } from '../faults/campaign/build/safeties';

const BUILD = join(__dirname, '..', '..', 'dist');

describe('the patches of the fault campaign', () => {
  const patches = [...HOOKS, ...SAFETIES.flatMap((safety) => [...safety.patches, ...(safety.without ?? [])])];

  it.each(patches)('$name is there once in $file of the build', ({ file, find }) => {
    const code = readFileSync(join(BUILD, file), 'utf8');
    expect(code.split(find)).toHaveLength(2);
  });
});

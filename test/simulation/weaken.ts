import { join } from 'node:path';
import { present } from '../../src/errors';
import { changes } from '../support/compile-on-require';
import { WEAKNESSES, type Weakness } from './weaknesses';

const SOURCES = join(__dirname, '..', '..', 'src');

/** The weakness of the product that this process plays with. Undefined: none. */
const weakness = find(process.env.SIMULATION_WEAKNESS);

if (weakness) weaken(weakness);

function find(name: string | undefined): Weakness | undefined {
  if (name === undefined) return undefined;
  return present(
    WEAKNESSES.find((one) => one.name === name),
    `a weakness called ${name}`,
  );
}

/** Before the files are loaded. */
function weaken({ patches }: Weakness): void {
  for (const { file, find: from, replace } of patches) {
    const path = join(SOURCES, file);
    const earlier = changes.get(path) ?? ((text: string) => text);
    changes.set(path, (text) => {
      const parts = earlier(text).split(from);
      if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} of: ${from}`);
      return parts.join(replace);
    });
  }
}

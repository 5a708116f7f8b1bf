import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from './snippets';

const PAGE = 'docs/configuration.md';
/** From here on the page is about handlers, files, and scripts. */
const END = '## Options of a timeout handler';

/** The variables of the service that docs/configuration.md lists, in its order. */
export function serviceVariables(): string[] {
  const [tables = ''] = readFileSync(join(REPOSITORY, PAGE), 'utf8').split(END);
  const rows = [...tables.matchAll(/^\| (`[A-Z][^|]*) \|/gm)].map(([, cell = '']) => cell);
  return rows.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name));
}

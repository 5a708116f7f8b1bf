import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VARIABLES } from '../../../src/service/config';
import { serviceVariables } from '../../support/service-variables';
import { REPOSITORY } from '../../support/snippets';

/** Read by Node.js itself. */
const OF_NODE = ['NODE_OPTIONS'];

/** What docker-compose.yml hands to the service. */
function composeVariables(): string[] {
  const text = readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8');
  const [, block = ''] = /environment: &service-environment\n((?: {4}.*\n)+)/.exec(text) ?? [];
  return [...block.matchAll(/^ {4}([A-Z_]+):/gm)].map(([, name = '']) => name);
}

describe('the variables of the service', () => {
  const documented = serviceVariables().sort();

  it('are the same on the page and in the schema that reads them', () => {
    const read = [...Object.keys(VARIABLES), ...OF_NODE];
    expect(documented).toEqual(read.sort());
  });

  // test/compose/settings.spec.ts shows that they arrive.
  it('can all be set through docker-compose.yml', () => {
    expect(composeVariables().sort()).toEqual(documented);
  });
});

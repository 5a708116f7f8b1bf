import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentedCommands, PAGE } from '../../compose/documented-commands';
import { REPOSITORY } from '../../support/snippets';

const folder = join(REPOSITORY, 'test', 'compose');
const specs = readdirSync(folder)
  .filter((name) => name.endsWith('.spec.ts'))
  .map((name) => readFileSync(join(folder, name), 'utf8'));

/** Commands that the specs cannot run in this clone. */
const LEFT_OUT = ['git pull', 'npm run suite -- compose'];

describe(`the commands of ${PAGE}`, () => {
  const commands = documentedCommands().filter((command) => !LEFT_OUT.includes(command));

  it('are more than a few', () => {
    expect(commands.length).toBeGreaterThan(8);
  });

  it.each(commands)('are run by npm run suite -- compose: %s', (command) => {
    expect(specs.some((spec) => spec.includes(command))).toBe(true);
  });
});

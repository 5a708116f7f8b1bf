import { join } from 'node:path';
import { DOCS } from '../../../packages/contract/src/contract-files';
import { Workshop } from './workshop';

/** Prints what the parser, which generators build on, finds wrong, and how many messages it found. */
const PROGRAM = `
const { Parser } = require('@asyncapi/parser');
const { readFileSync } = require('node:fs');
new Parser().parse(readFileSync(process.argv[1], 'utf8')).then(({ document, diagnostics }) => {
  const errors = diagnostics.filter(({ severity }) => severity === 0).map(({ message, path }) => [message, path.join('/')]);
  console.log(JSON.stringify({ errors, messages: document?.messages().all().length, operations: document?.operations().all().length }));
});
`;

describe('the parser of AsyncAPI', () => {
  const workshop = new Workshop();

  afterAll(() => workshop.remove());

  it('reads the document without an error', async () => {
    const [line = ''] = await workshop.run(process.execPath, ['-e', PROGRAM, join(DOCS, 'asyncapi.json')]);
    expect(JSON.parse(line)).toMatchObject({ errors: [], messages: 31, operations: 21 });
  });
});

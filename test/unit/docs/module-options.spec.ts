import { readFileSync } from 'node:fs';
import { OPTIONS_PAGE, renderOptions } from '../../contract/module-options';

describe('docs/module-options.md', () => {
  it('is what the comments of the options say (npm run diagrams writes it)', () => {
    expect(readFileSync(OPTIONS_PAGE, 'utf8')).toBe(renderOptions());
  });
});

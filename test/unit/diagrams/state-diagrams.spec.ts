import { readFileSync } from 'node:fs';
import { PAGE, renderPage } from '../../contract/render-page';
import { arrowsOf, stateDiagram } from '../../contract/state-diagram';

describe('the status diagrams of docs/architecture.md', () => {
  const page = readFileSync(PAGE, 'utf8');

  it('are what the tables in the code say (npm run diagrams writes them)', () => {
    expect(page).toBe(renderPage(page));
  });

  it('are in a part of the page that is marked', () => {
    expect(() => renderPage('# A page without the marks\n')).toThrow('must have each of these lines once');
  });
});

describe('a state diagram', () => {
  const steps = { a: ['b', 'c'], b: ['c'], c: [] } as const;
  const states = ['a', 'b', 'c'] as const;

  it('has an arrow for each step, from the start to the end', () => {
    const labelOf = (state: string) => (state === 'c' ? 'event.c' : undefined);
    const arrows = arrowsOf<'a' | 'b' | 'c'>(states, (state) => steps[state], { starts: ['a'], labelOf });
    expect(stateDiagram(arrows).split('\n')).toEqual([
      '```mermaid',
      'stateDiagram-v2',
      '  [*] --> a',
      '  a --> b',
      '  a --> c: event.c',
      '  b --> c: event.c',
      '  c --> [*]',
      '```',
    ]);
  });
});

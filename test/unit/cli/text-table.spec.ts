import { textPairs, textTable } from '../../../src/cli/arguments-and-tables';

describe('a table for people', () => {
  it('is as wide as its cells, with numbers on the right', () => {
    const rows = [
      ['order.payment', 7, new Date('2026-03-01T12:00:00.123Z')],
      ['x', 1_000, null],
    ];
    expect(textTable(['kind', 'count', 'due'], rows)).toBe(
      [
        'kind           count  due',
        '-------------  -----  --------------------',
        'order.payment      7  2026-03-01T12:00:00Z',
        'x               1000',
        '',
      ].join('\n'),
    );
  });

  it('shows text of others on one line, without control characters', () => {
    expect(textTable(['reason'], [['a\n\u001b[31mb']])).toContain('a [31mb\n');
  });

  it('cuts long text, but the last column later, because a reason ends with what to do', () => {
    expect(textPairs({ reason: 'x'.repeat(500) })).toBe(`reason  ${'x'.repeat(399)}…\n`);
    const table = textTable(['id', 'reason'], [['i'.repeat(100), 'x'.repeat(200)]]);
    expect(table.split('\n')[2]).toBe(`${'i'.repeat(79)}…  ${'x'.repeat(200)}`);
    expect(table.split('\n')[1]).toBe(`${'-'.repeat(80)}  ${'-'.repeat(80)}`);
  });
});

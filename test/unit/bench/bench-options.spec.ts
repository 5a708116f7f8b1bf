import { parseOptions } from '../../../bench/bench-options';

const known = ['B1', 'B2-DENSE'];

describe('the arguments of the benchmark', () => {
  it('have defaults', () => {
    expect(parseOptions([], known)).toMatchObject({ only: undefined, rounds: 3, isShort: false, json: undefined });
  });

  it('name workloads in any case', () => {
    expect(parseOptions(['--only', 'b1,b2-dense'], known).only).toEqual(['B1', 'B2-DENSE']);
  });

  it.each([
    [['--only', 'B7'], 'there are B1, B2-DENSE'],
    [['--rounds', '0'], 'must be an integer from 1'],
    [['--rounds', '1.5'], 'must be an integer from 1'],
    [['--speed', '9'], '--speed'],
  ])('are refused with the reason: %j', (args, reason) => {
    expect(() => parseOptions(args, known)).toThrow(reason);
  });
});

import { parseOptions } from '../../../examples/demo/demo-options';

describe('the arguments of the demo', () => {
  it('have defaults', () => {
    expect(parseOptions([])).toMatchObject({ transport: 'ladder', orders: 300, json: false, faults: false });
  });

  it('are taken in both spellings', () => {
    const given = ['--transport', 'none', '--orders=50', '--seed=7', '--json', '--faults'];
    expect(parseOptions(given)).toEqual({ transport: 'none', orders: 50, seed: 7, json: true, faults: true });
  });

  it.each([
    [['--transport', 'pigeon'], 'must be one of ladder, delayed-exchange, none, auto (got "pigeon")'],
    [['--orders', '0'], 'must be an integer from 1 to 2000 (got "0")'],
    [['--orders', '3e2'], 'must be an integer from 1 to 2000 (got "3e2")'],
    [['--seed', '-1'], '--seed'],
    [['--speed', '1'], '--speed'],
  ])('are refused with the reason: %j', (args, reason) => {
    expect(() => parseOptions(args)).toThrow(reason);
  });

  it('leave deadlines in the database without a broker, and refuse a transport that needs one', () => {
    expect(parseOptions([], false)).toMatchObject({ transport: 'none' });
    expect(parseOptions(['--transport', 'auto'], false)).toMatchObject({ transport: 'none' });
    expect(() => parseOptions(['--transport', 'ladder'], false)).toThrow('--transport ladder needs a broker');
  });

  it('show the usage instead of a run', () => {
    expect(parseOptions(['--help'])).toBeUndefined();
  });
});

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
    [['--watch', '--minutes', '61'], '--minutes must be an integer from 1 to 60 (got "61")'],
    [['--watch', '--orders', '50'], '--orders has no meaning with --watch'],
    [['--watch', '--json'], '--json has no meaning with --watch'],
    [['--minutes', '5'], '--minutes and --no-browser belong to --watch'],
    [['--no-browser'], '--minutes and --no-browser belong to --watch'],
  ])('are refused with the reason: %j', (args, reason) => {
    expect(() => parseOptions(args)).toThrow(reason);
  });

  it('watch for ten minutes in a browser, or as they say', () => {
    expect(parseOptions([])).not.toHaveProperty('watch');
    expect(parseOptions(['--watch'])).toMatchObject({ watch: { minutes: 10, opensBrowser: true } });
    const given = ['--watch', '--minutes', '2', '--no-browser'];
    expect(parseOptions(given)).toMatchObject({ watch: { minutes: 2, opensBrowser: false } });
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

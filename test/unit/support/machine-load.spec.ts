import os from 'node:os';
import { Patience, stretched } from '../../support/machine-load';

describe('a limit of a test', () => {
  let nowMs = 0;
  /** @param perCore processes that want to run */
  const load = (perCore: number): void =>
    void jest.spyOn(os, 'loadavg').mockReturnValue([perCore * os.cpus().length, 0, 0]);

  beforeEach(() => {
    nowMs = 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  });
  afterEach(() => jest.restoreAllMocks());

  it.each([
    [0, 500],
    [2, 500],
    [3, 750],
    [8, 2_000],
    [1_000, 10_000],
  ])('of 500 ms at %d processes for each core is one of %d ms', (perCore, ms) => {
    load(perCore);
    expect(stretched(500)).toBe(ms);
  });

  it('grows with the load while something is waited for, and does not shrink', () => {
    load(0);
    const patience = new Patience(1_000);
    nowMs += 900;
    expect(patience.leftMs).toBe(100);
    load(6);
    expect(patience.leftMs).toBe(2_100);
    load(0);
    nowMs += 2_100;
    expect(patience.leftMs).toBe(0);
    expect(patience.limitMs).toBe(3_000);
  });
});

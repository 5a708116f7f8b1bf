import { InvalidOptionsError } from '../../../src/errors';
import { resolveHandlerOptions, type TimeoutHandlerOptions } from '../../../src/timeouts/handlers/registered-handler';

describe('the options of a handler', () => {
  it('have defaults', () => {
    expect(resolveHandlerOptions('k', {}, 'batches')).toEqual({
      prefetch: 1_000,
      batchSize: 200,
      concurrency: 2,
      lookUpConcurrency: 200,
      maxAttempts: 5,
      leaseMs: 20_000,
      runTimeoutMs: 30_000,
      idleTimeoutMs: 31_000,
      statementTimeoutMs: 30_000,
    });
  });

  it('give a handler of single timeouts a transaction for each', () => {
    const batches = resolveHandlerOptions('k', {}, 'batches');
    const single = resolveHandlerOptions('k', {}, 'single timeouts');
    expect(single).toEqual({ ...batches, batchSize: 1, concurrency: 5 });
    expect(resolveHandlerOptions('k', { batchSize: 50 }, 'single timeouts')).toMatchObject({ batchSize: 50 });
  });

  it('are taken over where they are given, and cannot be changed then', () => {
    const resolved = resolveHandlerOptions('k', { batchSize: 1, maxAttempts: 1_000 }, 'batches');
    expect(resolved).toMatchObject({ prefetch: 1_000, batchSize: 1, maxAttempts: 1_000 });
    expect(Object.isFrozen(resolved)).toBe(true);
  });

  it('let a run pause for as long as it may take', () => {
    expect(resolveHandlerOptions('k', { runTimeoutMs: 90_000 }, 'batches')).toMatchObject({
      idleTimeoutMs: 91_000,
      statementTimeoutMs: 90_000,
    });
    expect(resolveHandlerOptions('k', { idleTimeoutMs: 5_000 }, 'batches')).toMatchObject({ idleTimeoutMs: 5_000 });
  });

  it('take undefined for not given', () => {
    const unset = { prefetch: undefined, leaseMs: undefined } as unknown as TimeoutHandlerOptions;
    expect(resolveHandlerOptions('k', unset, 'batches')).toEqual(resolveHandlerOptions('k', {}, 'batches'));
  });

  it.each([
    ['prefetch', 1, 65_535],
    ['batchSize', 1, 5_000],
    ['concurrency', 1, 64],
    ['lookUpConcurrency', 1, 10_000],
    ['maxAttempts', 1, 1_000],
    ['leaseMs', 3_000, 600_000],
    ['runTimeoutMs', 100, 600_000],
    ['idleTimeoutMs', 100, 660_000],
    ['statementTimeoutMs', 100, 600_000],
  ])('have %s from %i to %i, in whole numbers', (name, min, max) => {
    for (const value of [min, max])
      expect(resolveHandlerOptions('k', { [name]: value }, 'batches')).toMatchObject({ [name]: value });
    for (const value of [min - 1, max + 1, min + 0.5, NaN, '7']) {
      const problem = `${name} must be an integer from ${min} to ${max} (got ${String(value)})`;
      expect(() => resolveHandlerOptions('k', { [name]: value }, 'batches')).toThrow(problem);
    }
  });

  it('are refused with every problem at once, and the kind they belong to', () => {
    const times = { leaseMs: 0, runTimeoutMs: 0, idleTimeoutMs: 0, statementTimeoutMs: 0 };
    const bad = { prefetch: 0, batchSize: 0, concurrency: 0, lookUpConcurrency: 0, maxAttempts: 0, ...times };
    const refused = jest.fn(() => resolveHandlerOptions('order.payment', bad, 'batches'));
    expect(refused).toThrow("@TimeoutHandler('order.payment'): 9 problems");
    const error: unknown = refused.mock.results[0]?.value;
    expect(error).toBeInstanceOf(InvalidOptionsError);
    const problems = error instanceof InvalidOptionsError ? error.problems : [];
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual(Object.keys(bad));
  });
});

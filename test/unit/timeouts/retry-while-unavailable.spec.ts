import { Logger } from '@nestjs/common';
import { retryWhileUnavailable } from '../../../src/database';
import { ManualClock } from '../../support/manual-clock';

const unavailable = () =>
  Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' });

/** Lets every promise that can settle do so. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('starting while the database restarts', () => {
  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  async function run(failures: readonly Error[]) {
    const clock = new ManualClock();
    const work = jest.fn(async (): Promise<string> => {
      const failure = failures[work.mock.calls.length - 1];
      if (failure) throw failure;
      return 'started';
    });
    const result: Promise<unknown> = retryWhileUnavailable(clock, work).catch((error: unknown) => error);
    for (let tries = 0; tries < 12; tries++) {
      await settled();
      clock.advance(3_000);
    }
    return { result: await result, tries: work.mock.calls.length };
  }

  it('waits until it is back', async () => {
    expect(await run([unavailable(), unavailable()])).toEqual({ result: 'started', tries: 3 });
  });

  it('gives up after ten tries, with what the database said', async () => {
    const { result, tries } = await run(Array.from({ length: 20 }, unavailable));
    expect(tries).toBe(10);
    expect(result).toMatchObject({ code: '57P01' });
  });

  it('does not repeat what will fail again', async () => {
    const denied = Object.assign(new Error('permission denied'), { code: '42501' });
    expect(await run([denied])).toEqual({ result: denied, tries: 1 });
  });
});

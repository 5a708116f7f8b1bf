import { OneAtATime } from '../../../src/rabbit/rabbit-server';

function deferred() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

describe('OneAtATime', () => {
  it('runs work with one key in order of arrival, and work with other keys in parallel', async () => {
    const queue = new OneAtATime();
    const first = deferred();
    const log: string[] = [];
    const a1 = queue.run('a', async () => {
      await first.promise;
      log.push('a1');
    });
    const a2 = queue.run('a', async () => void log.push('a2'));
    await queue.run('b', async () => void log.push('b1'));
    expect(log).toEqual(['b1']);
    first.resolve();
    await Promise.all([a1, a2]);
    expect(log).toEqual(['b1', 'a1', 'a2']);
  });

  it('continues after work that failed, and forgets idle keys', async () => {
    const queue = new OneAtATime();
    const failed = queue.run('a', () => Promise.reject(new Error('no')));
    const next = queue.run('a', async () => 'yes');
    await expect(failed).rejects.toThrow('no');
    await expect(next).resolves.toBe('yes');
    await new Promise(setImmediate);
    expect((queue as unknown as { tails: Map<string, unknown> }).tails.size).toBe(0);
  });
});

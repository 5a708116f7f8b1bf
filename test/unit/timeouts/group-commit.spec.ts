import { GroupCommit } from '../../../src/database/group-commit';

interface Run {
  readonly items: readonly string[];
  readonly answer: () => void;
  readonly fail: (error: Error) => void;
}

function openLanes({ lanes = 1, size = 10 } = {}) {
  const runs: Run[] = [];
  const alone: string[] = [];
  const groups = new GroupCommit<string, string>({
    size,
    lanes,
    // "a1" and "a2" are both about "a".
    namesOf: (item) => [item.slice(0, 1)],
    runTogether: (items) =>
      new Promise((resolve, reject) => {
        runs.push({ items, answer: () => resolve(items.map((item) => `${item} together`)), fail: reject });
      }),
    runAlone: (item) => {
      alone.push(item);
      if (item === 'stuck') return new Promise(() => undefined);
      return item.startsWith('!') ? Promise.reject(new Error(`${item} is bad`)) : Promise.resolve(`${item} alone`);
    },
    isHopeless: (error) => error instanceof Error && error.message === 'unavailable',
  });
  const itemsOf = () => runs.map(({ items }) => items.join(' '));
  return { groups, runs, alone, itemsOf };
}

const turn = () => new Promise(setImmediate);

describe('GroupCommit', () => {
  it('runs an item at once while a lane is free', () => {
    const { groups, itemsOf } = openLanes({ lanes: 2 });
    void groups.run('a');
    void groups.run('b');
    expect(itemsOf()).toEqual(['a', 'b']);
  });

  it('runs together what came while all lanes were busy, and gives each its own answer', async () => {
    const { groups, runs, itemsOf } = openLanes();
    const answers = Promise.all(['a', 'b', 'c'].map((item) => groups.run(item)));
    runs[0]?.answer();
    await turn();
    expect(itemsOf()).toEqual(['a', 'b c']);
    runs[1]?.answer();
    expect(await answers).toEqual(['a together', 'b together', 'c together']);
  });

  it('takes no more than fit into one group, first come first served', async () => {
    const { groups, runs, itemsOf } = openLanes({ size: 2 });
    for (const item of ['a', 'b', 'c', 'd']) void groups.run(item);
    runs[0]?.answer();
    await turn();
    runs[1]?.answer();
    await turn();
    expect(itemsOf()).toEqual(['a', 'b c', 'd']);
  });

  it('never puts two items with a name in common into one group, and keeps their order', async () => {
    const { groups, runs, itemsOf } = openLanes();
    for (const item of ['x', 'a1', 'b1', 'a2', 'a3', 'c1']) void groups.run(item);
    for (let done = 0; done < 3; done += 1) {
      runs[done]?.answer();
      await turn();
    }
    expect(itemsOf()).toEqual(['x', 'a1 b1 c1', 'a2', 'a3']);
  });

  it('tries each alone when the group fails, so that only the bad one fails', async () => {
    const { groups, runs, alone } = openLanes();
    void groups.run('x');
    const answers = Promise.allSettled(['a', '!', 'c'].map((item) => groups.run(item)));
    runs[0]?.answer();
    await turn();
    runs[1]?.fail(new Error('one of them'));
    expect(await answers).toMatchObject([
      { value: 'a alone' },
      { reason: { message: '! is bad' } },
      { value: 'c alone' },
    ]);
    expect(alone).toEqual(['a', '!', 'c']);
  });

  it('tries none again when that is hopeless', async () => {
    const { groups, runs, alone } = openLanes();
    const answer = groups.run('a');
    runs[0]?.fail(new Error('unavailable'));
    await expect(answer).rejects.toThrow('unavailable');
    expect(alone).toEqual([]);
  });

  it('goes on with the next group while those that failed are tried alone', async () => {
    const { groups, runs, itemsOf } = openLanes();
    void groups.run('stuck');
    void groups.run('b');
    runs[0]?.fail(new Error('waited for a lock'));
    await turn();
    expect(itemsOf()).toEqual(['stuck', 'b']);
  });
});

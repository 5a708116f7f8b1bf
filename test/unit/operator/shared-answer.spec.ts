import { SharedAnswer } from '../../../src/api/operator/parked-work';

describe('a shared answer', () => {
  let now = 0;
  let asked: string[];
  const answers = () => new SharedAnswer<string>({ monotonic: () => now }, 1_000);
  const ask = (name: string) => async () => {
    asked.push(name);
    return name;
  };

  beforeEach(() => {
    now = 0;
    asked = [];
  });

  it('is asked for once, however many want it', async () => {
    const shared = answers();
    expect(
      await Promise.all([shared.get('a', ask('a')), shared.get('a', ask('a')), shared.get('b', ask('b'))]),
    ).toEqual(['a', 'a', 'b']);
    now = 999;
    await shared.get('a', ask('a'));
    expect(asked).toEqual(['a', 'b']);
  });

  it('is asked for again when it is old, or when it failed', async () => {
    const shared = answers();
    await shared.get('a', ask('a'));
    now = 1_000;
    await shared.get('a', ask('a'));
    await expect(shared.get('b', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await shared.get('b', ask('b'));
    expect(asked).toEqual(['a', 'a', 'b']);
  });
});

import { OverdueWakeUps } from '../../../src/timeouts/engine/timeout-processor';
import { type WorkItem } from '../../../src/timeouts/model/timeout';

const item = (key: string, finish = (): void => undefined): WorkItem => ({
  wakeUp: { key, generation: '1', dueAtMs: 0, cause: 'message' },
  finish,
});
const row = (key: string, leased = false) => ({ key, generation: '1', leased });

describe('overdue timeouts that the sweep finds', () => {
  it('have lost their wake-ups when neither a lease nor work in progress explains them', () => {
    const overdue = new OverdueWakeUps();
    overdue.begin();
    overdue.found([row('a'), row('b'), row('c', true)]);
    overdue.found([row('d')]);
    expect(overdue.end()()).toBe(3);
    overdue.begin();
    expect(overdue.end()()).toBe(0);
  });

  it('prove nothing while wake-ups of theirs wait here, until these have ended', () => {
    const overdue = new OverdueWakeUps();
    const results: string[] = [];
    const twice = [1, 2].map(() => overdue.track(item('a', () => void results.push('told'))));
    overdue.begin();
    overdue.found([row('a'), row('b')]);
    expect(overdue.end()()).toBe(0);
    twice.forEach((each) => each.finish('finished'));
    expect(results).toEqual(['told', 'told']);
    overdue.begin();
    overdue.found([row('a'), row('b')]);
    expect(overdue.end()()).toBe(2);
  });

  it('prove nothing while one of two wake-ups is still in progress', () => {
    const overdue = new OverdueWakeUps();
    const [first] = [1, 2].map(() => overdue.track(item('a')));
    first?.finish('finished');
    overdue.begin();
    overdue.found([row('a'), row('b')]);
    expect(overdue.end()()).toBe(0);
  });

  it('have lost their wake-ups if the one in progress is of an earlier deadline', () => {
    const overdue = new OverdueWakeUps();
    overdue.track(item('a'));
    overdue.begin();
    overdue.found([{ ...row('a'), generation: '2' }]);
    expect(overdue.end()()).toBe(1);
  });

  it('have not lost those that come later', () => {
    const overdue = new OverdueWakeUps();
    overdue.begin();
    overdue.found([row('a'), row('b')]);
    const count = overdue.end();
    overdue.track(item('a'));
    expect(count()).toBe(1);
    overdue.track(item('b'));
    expect(count()).toBe(0);
  });
});

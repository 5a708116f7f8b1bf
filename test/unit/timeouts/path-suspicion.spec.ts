import { PathSuspicion } from '../../../src/timeouts/message-path/path-recovery';
import { ManualClock } from '../../support/manual-clock';

const MINUTE = 60_000;

describe('the suspicion of the message path', () => {
  const setup = () => {
    const clock = new ManualClock();
    return { clock, path: new PathSuspicion(clock) };
  };

  it('needs two runs with missed wake-ups of one kind, whatever the time between', () => {
    const { clock, path } = setup();
    expect(path.missed(['a'])).toBe(false);
    expect(path.missed(['b'])).toBe(false);
    clock.advance(1_000 * MINUTE);
    expect(path.missed(['c', 'a'])).toBe(true);
  });

  it('forgets what was missed when it is cleared', () => {
    const { clock, path } = setup();
    path.missed(['a']);
    path.suspect('they go missing');
    path.clear();
    clock.advance(61 * MINUTE);
    expect(path.missed(['a'])).toBe(false);
  });

  it('is told once, and cleared at once the first time', () => {
    const { path } = setup();
    expect(path.suspect('they go missing')).toBe(true);
    expect(path.suspect('and still do')).toBe(false);
    expect(path.cause).toBe('and still do');
    expect(path.clear()).toBe(true);
    expect(path.cause).toBeUndefined();
  });

  it('comes back after one run soon after it was cleared, and stays for longer each time', () => {
    const { clock, path } = setup();
    path.suspect('first');
    path.clear();
    for (const minutes of [10, 20, 40]) {
      clock.advance(MINUTE);
      expect(path.missed(['a'])).toBe(true);
      path.suspect('again');
      clock.advance(minutes * MINUTE - 1);
      expect(path.clear()).toBe(false);
      clock.advance(1);
      expect(path.clear()).toBe(true);
    }
    clock.advance(61 * MINUTE);
    expect(path.missed(['a'])).toBe(false);
    path.suspect('long after');
    expect(path.clear()).toBe(true);
  });
});

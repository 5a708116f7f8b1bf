import { runOnce } from './run-once';
import { tally } from './tally';
import { WEAKER } from './weaker-wirings';
import { OURS } from './wiring';

// The short form of `npm run suite -- model`, with fixed seeds; new worlds are for the long one.
const FIRST_SEED = 1;

it('leaves no order wrong in 4000 random interleavings of payments, closes, faults and crashes', () => {
  const { runs, counts, seeds } = tally(OURS, { firstSeed: FIRST_SEED, runs: 4_000 });
  // A seed tells its story: npm run suite -- model --runs 1 --seed N
  expect({ runs, counts, seeds }).toEqual({ runs: 4_000, counts: {}, seeds: [] });
});

it.each(WEAKER.map((wiring) => [wiring.name, wiring] as const))('catches the weaker variant %s', (_name, wiring) => {
  const { counts } = tally(wiring, { firstSeed: FIRST_SEED, runs: 10_000, stopsAt: wiring.shows });
  expect(counts[wiring.shows]).toBe(1);
});

it('repeats a run, step by step, by its seed', () => {
  const [first, second] = [runOnce(42, OURS, true), runOnce(42, OURS, true)];
  expect(first.steps).toBeGreaterThan(10);
  expect(second.trace).toEqual(first.trace);
});

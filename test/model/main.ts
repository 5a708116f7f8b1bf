import { availableParallelism } from 'node:os';
import { readModelOptions } from './model-options';
import { isAsExpected, storyOf, tableOf } from './print-tallies';
import { type Tally } from './tally';
import { tallyInThreads } from './tally-in-threads';
import { WEAKER } from './weaker-wirings';
import { OURS } from './wiring';

/** So much of a bad run is shown at once. */
const STORY_LINES = 120;

const say = (text: string): boolean => process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const options = readModelOptions(process.argv.slice(2), Date.now(), Math.min(availableParallelism(), 4));
  const { runs, weakerRuns, seed, variant, workers } = options;
  if (runs === 1) {
    say(storyOf(seed, variant ?? OURS.name));
    return 0;
  }
  say(`seed ${seed}; the same runs again: --seed ${seed}`);
  const variants = [{ name: OURS.name, runs }, ...WEAKER.map(({ name }) => ({ name, runs: weakerRuns }))];
  const wanted = variants.filter(({ name }) => variant === undefined || name === variant);
  const startedAt = performance.now();
  const tallies = await tallyInThreads(wanted, { seed, threads: workers }, (tally) => tellOf(tally, startedAt));
  say(`\n${tableOf(tallies)}\n`);
  for (const { variant: name, seeds } of tallies) {
    if (name !== OURS.name || seeds[0] === undefined) continue;
    say(storyOf(seeds[0], name, STORY_LINES));
    say(`all of it: --runs 1 --seed ${seeds[0]}`);
  }
  const isGood = isAsExpected(tallies);
  say(
    isGood
      ? 'ok: ours, where it ran, did nothing wrong; weaker variants that ran were caught'
      : 'NOT ok: see the table',
  );
  return isGood ? 0 : 1;
}

function tellOf({ variant, runs, steps, seeds }: Tally, startedAt: number): void {
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  const found = seeds.length === 0 ? 'nothing found' : `found by seeds ${seeds.join(', ')}`;
  say(`${seconds.padStart(4)} s  ${variant}: ${runs} runs, ${steps} steps, ${found}`);
}

// Not process.exit: it would cut off what a pipe has not taken yet.
main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  },
);

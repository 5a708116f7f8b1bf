import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Portion } from './model-worker';
import { addTally, emptyTally, type Tally } from './tally';

/** Small enough that all threads end at about the same time. */
const PORTION = 1_000;

/** Runs the variants one after the other, each on all threads. @param ended hears of each variant as it is done. */
export async function tallyInThreads(
  variants: readonly { readonly name: string; readonly runs: number }[],
  { seed, threads }: { readonly seed: number; readonly threads: number },
  ended: (tally: Tally) => void,
): Promise<Tally[]> {
  const workers = Array.from({ length: threads }, () => new Worker(join(__dirname, 'model-worker.ts')));
  try {
    const tallies: Tally[] = [];
    for (const { name, runs } of variants) {
      const sum = emptyTally(name);
      const portions = split(name, seed, runs);
      await Promise.all(workers.map((worker) => work(worker, portions, sum)));
      ended(sum);
      tallies.push(sum);
    }
    return tallies;
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

function split(variant: string, seed: number, runs: number): Portion[] {
  return Array.from({ length: Math.ceil(runs / PORTION) }, (_, index) => {
    const done = index * PORTION;
    return { variant, firstSeed: seed + done, runs: Math.min(PORTION, runs - done) };
  });
}

/** Takes portions until there are none. */
async function work(worker: Worker, portions: Portion[], sum: Tally): Promise<void> {
  for (let portion = portions.shift(); portion; portion = portions.shift()) {
    addTally(sum, await ask(worker, portion));
  }
}

function ask(worker: Worker, portion: Portion): Promise<Tally> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (answer: Tally) => {
      worker.off('error', reject);
      resolve(answer);
    });
    worker.postMessage(portion);
  });
}

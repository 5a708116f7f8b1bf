import { type Violation } from './check-end';
import { runOnce } from './run-once';
import { type Wiring } from './wiring';

/** Which runs to do, and when to stop. */
export interface TallyPlan {
  readonly firstSeed: number;
  readonly runs: number;
  /** For variants that are wrong: one run that shows it is enough. */
  readonly stopsAt?: Violation['type'];
}

/** What some runs of one variant brought. */
export interface Tally {
  readonly variant: string;
  runs: number;
  steps: number;
  /** Timeouts that wait for a person, for good reason. */
  parked: number;
  /** Runs by the kinds of violations that they ended with. */
  readonly counts: Partial<Record<Violation['type'], number>>;
  /** Seeds of the first runs with violations. */
  readonly seeds: number[];
}

const MAX_SEEDS = 10;

/** Runs one variant with one seed after the other. */
export function tally(wiring: Wiring, { firstSeed, runs, stopsAt }: TallyPlan): Tally {
  const result = emptyTally(wiring.name);
  for (let index = 0; index < runs; index++) {
    const { violations, steps, parked } = runOnce(firstSeed + index, wiring);
    result.runs++;
    result.steps += steps;
    result.parked += parked;
    if (violations.length === 0) continue;
    for (const type of new Set(violations.map((violation) => violation.type))) count(result, type, 1);
    if (result.seeds.length < MAX_SEEDS) result.seeds.push(firstSeed + index);
    if (stopsAt !== undefined && violations.some(({ type }) => type === stopsAt)) break;
  }
  return result;
}

export function emptyTally(variant: string): Tally {
  return { variant, runs: 0, steps: 0, parked: 0, counts: {}, seeds: [] };
}

/** Adds up what was counted in parts. */
export function addTally(sum: Tally, part: Tally): void {
  sum.runs += part.runs;
  sum.steps += part.steps;
  sum.parked += part.parked;
  for (const [type, runs] of Object.entries(part.counts)) count(sum, type as Violation['type'], runs);
  sum.seeds.push(...part.seeds);
  sum.seeds.sort((a, b) => a - b).splice(MAX_SEEDS);
}

function count({ counts }: Tally, type: Violation['type'], runs: number): void {
  counts[type] = (counts[type] ?? 0) + runs;
}

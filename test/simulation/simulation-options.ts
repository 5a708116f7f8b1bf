import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/whole-number';
import { WEAKNESSES } from './weaknesses';

/** What the command line asks for. */
export interface SimulationOptions {
  readonly worlds: number;
  /** Of the first world; each world has the next one. */
  readonly seed: number;
  /** No world begins after so many. */
  readonly seconds: number;
  readonly workers: number;
  /** `people`: what anybody outside of the service does and hears. `all`: each statement and message, too. */
  readonly trace: 'people' | 'all' | undefined;
  /** What is taken back from the product, one after the other. None: the product is played. */
  readonly weaknesses: readonly string[];
  /** Name of the databases, which are created. */
  readonly name: string;
}

const MAX_SEED = 2 ** 31;

const DAY_S = 86_400;

const TRACES = ['people', 'all'] as const;

/** @throws Error with a sentence for the caller. */
export function readSimulationOptions(args: readonly string[], drawn: number): SimulationOptions {
  const text = { type: 'string' } as const;
  const options = {
    ...{ worlds: text, seed: text, seconds: text, workers: text },
    ...{ trace: text, weakness: text, name: text },
  };
  const { values } = parseArgs({ args: [...args], options });
  return {
    worlds: wholeNumber('--worlds', values.worlds, 200, 10_000_000),
    seed: wholeNumber('--seed', values.seed, drawn % MAX_SEED, MAX_SEED),
    seconds: wholeNumber('--seconds', values.seconds, DAY_S, DAY_S),
    workers: wholeNumber('--workers', values.workers, Math.min(availableParallelism(), 4), 64),
    trace: traceOf(values.trace),
    weaknesses: weaknessesOf(values.weakness),
    name: values.name ?? 'order_timeout_simulation',
  };
}

function traceOf(given: string | undefined): SimulationOptions['trace'] {
  const trace = TRACES.find((one) => one === given);
  if (trace === undefined && given !== undefined)
    throw new Error(`--trace must be one of ${TRACES.join(', ')} (got ${given})`);
  return trace;
}

function weaknessesOf(given: string | undefined): string[] {
  if (given === undefined) return [];
  const names = WEAKNESSES.map(({ name }) => name);
  if (given === 'all') return names;
  const wanted = given.split(',');
  if (!wanted.every((name) => names.includes(name)))
    throw new Error(`--weakness must be all, or some of ${names.join(', ')} (got ${given})`);
  return wanted;
}

import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/whole-number';
import { WEAKER } from './weaker-wirings';
import { OURS } from './wiring';

/** What the command line asks for. */
export interface ModelOptions {
  /** Of our variant. */
  readonly runs: number;
  /** Of each weaker one. */
  readonly weakerRuns: number;
  /** Of the first run; each run has the next one. */
  readonly seed: number;
  /** Only this variant. */
  readonly variant: string | undefined;
  readonly workers: number;
}

const MAX_SEED = 2 ** 31;

/** @throws Error with a sentence for the caller. */
export function readModelOptions(args: readonly string[], drawn: number, cores: number): ModelOptions {
  const text = { type: 'string' } as const;
  const options = { runs: text, 'weaker-runs': text, seed: text, variant: text, workers: text };
  const { values } = parseArgs({ args: [...args], options });
  const runs = wholeNumber('--runs', values.runs, 20_000, 10_000_000);
  const names = [OURS, ...WEAKER].map(({ name }) => name);
  if (values.variant !== undefined && !names.includes(values.variant)) {
    throw new Error(`--variant must be one of ${names.join(', ')} (got ${values.variant})`);
  }
  return {
    runs,
    weakerRuns: wholeNumber('--weaker-runs', values['weaker-runs'], Math.min(runs, 20_000), 10_000_000),
    seed: wholeNumber('--seed', values.seed, drawn % MAX_SEED, MAX_SEED),
    variant: values.variant,
    workers: wholeNumber('--workers', values.workers, cores, 64),
  };
}

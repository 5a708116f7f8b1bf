import { parseArgs } from 'node:util';
import { wholeNumber } from '../support/whole-number';

/** What the command line asks for. */
export interface SimulationOptions {
  readonly worlds: number;
  /** Of the first world; each world has the next one. */
  readonly seed: number;
  /** `people`: what anybody outside of the service does and hears. `all`: each statement and message, too. */
  readonly trace: 'people' | 'all' | undefined;
  /** Name of the database, which is created. */
  readonly name: string;
}

const MAX_SEED = 2 ** 31;

const TRACES = ['people', 'all'] as const;

/** @throws Error with a sentence for the caller. */
export function readSimulationOptions(args: readonly string[], drawn: number): SimulationOptions {
  const text = { type: 'string' } as const;
  const options = { worlds: text, seed: text, trace: text, name: text };
  const { values } = parseArgs({ args: [...args], options });
  const trace = TRACES.find((one) => one === values.trace);
  if (trace === undefined && values.trace !== undefined)
    throw new Error(`--trace must be one of ${TRACES.join(', ')} (got ${values.trace})`);
  return {
    worlds: wholeNumber('--worlds', values.worlds, 200, 10_000_000),
    seed: wholeNumber('--seed', values.seed, drawn % MAX_SEED, MAX_SEED),
    trace,
    name: values.name ?? 'order_timeout_simulation',
  };
}

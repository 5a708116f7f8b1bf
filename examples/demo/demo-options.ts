import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { RunError } from '../../test/support/run-error';

export const TRANSPORTS = ['ladder', 'delayed-exchange', 'none', 'auto'] as const;

export type Transport = (typeof TRANSPORTS)[number];

/** How long buyers act while somebody watches the operator page. */
export interface WatchOptions {
  readonly minutes: number;
  readonly opensBrowser: boolean;
}

/** What `npm run demo -- …` can be told. */
export interface DemoOptions {
  readonly transport: Transport;
  readonly orders: number;
  /** The same seed plans the same orders and buyers. */
  readonly seed: number;
  /** One JSON document on standard output instead of tables. */
  readonly json: boolean;
  /** Kills the service in the middle (SIGKILL), and starts it again a second later. */
  readonly faults: boolean;
  /** Instead of a run that is checked: a run to look at. */
  readonly watch?: WatchOptions;
}

export const USAGE = `npm run demo -- [options]
  --transport ladder|delayed-exchange|none|auto   how deadlines wait (default ladder, or none without a broker)
  --orders n                                      how many orders, 1 to 2000 (default 300)
  --seed n                                        repeats the plan of an earlier run
  --faults                                        kills the service (-9) in the middle and starts it again
  --watch                                         serves the operator page while buyers act, until Ctrl-C
  --minutes n                                     ends --watch after this time, 1 to 60 (default 10)
  --no-browser                                    with --watch: opens no browser
  --json                                          prints one JSON document; progress goes to standard error
  --help
`;

/** More could not be placed within the two minutes that a run may take. */
const MAX_ORDERS = 2_000;
const MAX_SEED = 2 ** 31 - 1;
const MAX_MINUTES = 60;
/** They belong to a run that is checked. */
const NOT_WATCHED = ['orders', 'json', 'faults'] as const;

/** @returns undefined when only the usage was asked for. @throws RunError naming the bad argument. */
export function parseOptions(args: readonly string[], hasBroker = true): DemoOptions | undefined {
  const values = parse(args);
  const { help, transport, orders, seed, json, faults } = values;
  if (help) return undefined;
  const watch = watchOptions(values);
  return {
    ...(watch && { watch }),
    transport: hasBroker ? oneOf(transport ?? 'ladder') : withoutBroker(oneOf(transport ?? 'none')),
    orders: integer('--orders', orders ?? '300', 1, MAX_ORDERS),
    seed: seed === undefined ? randomInt(1, MAX_SEED) : integer('--seed', seed, 0, MAX_SEED),
    json: json ?? false,
    faults: faults ?? false,
  };
}

function watchOptions(values: ReturnType<typeof parse>): WatchOptions | undefined {
  const { watch, minutes, 'no-browser': noBrowser } = values;
  if (!watch && (minutes !== undefined || noBrowser)) {
    throw new RunError('--minutes and --no-browser belong to --watch; add it, or leave them out');
  }
  if (!watch) return undefined;
  const other = NOT_WATCHED.find((name) => values[name] !== undefined);
  if (other) throw new RunError(`--${other} has no meaning with --watch, which checks nothing; leave one of them out`);
  return { minutes: integer('--minutes', minutes ?? '10', 1, MAX_MINUTES), opensBrowser: !noBrowser };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        transport: { type: 'string' },
        orders: { type: 'string' },
        seed: { type: 'string' },
        json: { type: 'boolean' },
        faults: { type: 'boolean' },
        watch: { type: 'boolean' },
        minutes: { type: 'string' },
        'no-browser': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new RunError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

function oneOf(given: string): Transport {
  const found = TRANSPORTS.find((transport) => transport === given);
  if (!found) throw new RunError(`--transport must be one of ${TRANSPORTS.join(', ')} (got "${given}")`);
  return found;
}

function withoutBroker(given: Transport): Transport {
  if (given === 'none' || given === 'auto') return 'none';
  throw new RunError(`--transport ${given} needs a broker, and there is none; leave it out, or set RABBITMQ_URLS`);
}

function integer(name: string, given: string, min: number, max: number): number {
  const value = /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new RunError(`${name} must be an integer from ${min} to ${max} (got "${given}")`);
}

import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { RunError } from '../../test/harness/run-error';

export const TRANSPORTS = ['ladder', 'delayed-exchange', 'none', 'auto'] as const;

export type Transport = (typeof TRANSPORTS)[number];

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
}

export const USAGE = `npm run demo -- [options]
  --transport ladder|delayed-exchange|none|auto   how deadlines wait (default ladder, or none without a broker)
  --orders n                                      how many orders, 1 to 2000 (default 300)
  --seed n                                        repeats the plan of an earlier run
  --faults                                        kills the service (-9) in the middle and starts it again
  --json                                          prints one JSON document; progress goes to standard error
  --help
`;

/** More could not be placed within the two minutes that a run may take. */
const MAX_ORDERS = 2_000;
const MAX_SEED = 2 ** 31 - 1;

/** @returns undefined when only the usage was asked for. @throws RunError naming the bad argument. */
export function parseOptions(args: readonly string[], hasBroker = true): DemoOptions | undefined {
  const { help, transport, orders, seed, json, faults } = parse(args);
  if (help) return undefined;
  return {
    transport: hasBroker ? oneOf(transport ?? 'ladder') : withoutBroker(oneOf(transport ?? 'none')),
    orders: integer('--orders', orders ?? '300', 1, MAX_ORDERS),
    seed: seed === undefined ? randomInt(1, MAX_SEED) : integer('--seed', seed, 0, MAX_SEED),
    json: json ?? false,
    faults: faults ?? false,
  };
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

import { parseArgs } from 'node:util';

/** How a benchmark is run. */
export interface BenchOptions {
  /** Ids of workloads; undefined: all. */
  readonly only: readonly string[] | undefined;
  /** Names of contestants, or parts of them; undefined: all. */
  readonly contestants: readonly string[] | undefined;
  readonly rounds: number;
  readonly isShort: boolean;
  /** File for the results. */
  readonly json: string | undefined;
  /** Folder for CPU profiles and statement statistics of the product. */
  readonly profileFolder: string | undefined;
}

export const USAGE = `npm run suite -- bench [OPTIONS]
  --only IDS           these workloads, e.g. B3,B1
  --contestants NAMES  only contestants whose name contains one of these, e.g. ladder,pgbench
  --rounds N           3; contestants take turns in each round, the table says the medians
  --short              small numbers, to see that everything works; the figures mean nothing
  --json FILE          results as JSON, too
  --profile FOLDER     CPU profiles and statement statistics of the product; they cost speed
`;

/** @throws TypeError naming what is wrong. */
export function parseOptions(args: readonly string[], known: readonly string[]): BenchOptions {
  const text = { type: 'string' } as const;
  const options = {
    ...{ only: text, contestants: text, rounds: text, json: text, profile: text },
    short: { type: 'boolean' } as const,
  };
  const { values } = parseArgs({ args: [...args], options });
  const only = values.only?.toUpperCase().split(',');
  const strangers = only?.filter((id) => !known.includes(id)) ?? [];
  if (strangers.length > 0) throw new TypeError(`--only ${strangers.join(',')}: there are ${known.join(', ')}`);
  const rounds = Number(values.rounds ?? 3);
  if (!Number.isSafeInteger(rounds) || rounds < 1) throw new TypeError('--rounds must be an integer from 1');
  return {
    only,
    rounds,
    contestants: values.contestants?.split(','),
    isShort: values.short ?? false,
    json: values.json,
    profileFolder: values.profile,
  };
}

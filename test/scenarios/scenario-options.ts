import { parseArgs } from 'node:util';
import { CATALOGUE } from './catalogue';
import { PROVIDERS, type ProviderName, type Scenario } from './scenario';

/** What a run plays. */
export interface ScenarioOptions {
  readonly seed: number;
  readonly providers: readonly ProviderName[];
  readonly scenarios: readonly Scenario[];
  /** Orders of each scenario at each provider. */
  readonly each: number;
  /** Orders placed a second. */
  readonly perSecond: number;
  /** Whether the providers also go down for all orders at once, afterwards. */
  readonly hasOutage: boolean;
}

export const USAGE = `npm run suite -- scenarios [OPTIONS]
  --orders 600          about so many orders altogether
  --seed N              repeats a run
  --provider a,b        of ${PROVIDERS.join(', ')}
  --only name,name      of the scenarios; "outage" for the outage of everything
  --per-second 8        orders placed a second
`;

/** @throws Error naming what is wrong. */
export function parseOptions(args: readonly string[], seed: number): ScenarioOptions {
  const text = { type: 'string' } as const;
  const options = { seed: text, orders: text, provider: text, only: text, 'per-second': text };
  const { values } = parseArgs({ args: [...args], options });
  const providers = choose('--provider', values.provider, PROVIDERS, (name) => name);
  const only = values.only?.split(',').filter((name) => name !== 'outage');
  const wanted = only?.join(',');
  const scenarios = wanted === '' ? [] : choose('--only', wanted, CATALOGUE, ({ name }) => name);
  const stories = scenarios.reduce(
    (sum, { providers: own }) => sum + providers.filter((one) => (own ?? PROVIDERS).includes(one)).length,
    0,
  );
  const orders = integer('--orders', values.orders, 600);
  return {
    ...{ providers, scenarios, seed: integer('--seed', values.seed, seed) },
    each: Math.max(1, Math.round(orders / Math.max(1, stories))),
    perSecond: integer('--per-second', values['per-second'], 8),
    hasOutage: values.only === undefined || values.only.split(',').includes('outage'),
  };
}

function choose<T>(option: string, given: string | undefined, all: readonly T[], nameOf: (one: T) => string): T[] {
  if (given === undefined) return [...all];
  return given.split(',').map((name) => {
    const found = all.find((one) => nameOf(one) === name);
    if (found === undefined) throw new Error(`${option}: "${name}" is none of ${all.map(nameOf).join(', ')}`);
    return found;
  });
}

function integer(option: string, given: string | undefined, otherwise: number): number {
  if (given === undefined) return otherwise;
  if (!/^\d{1,9}$/.test(given)) throw new Error(`${option}: "${given}" is not a number`);
  return Number(given);
}

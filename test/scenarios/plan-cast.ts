import { Random } from '../support/buyers/random';
import { type Role } from './playing/play-order';
import { PROVIDERS, type ProviderName, type Scenario } from './scenario';

interface Wanted {
  readonly seed: number;
  readonly providers: readonly ProviderName[];
  readonly scenarios: readonly Scenario[];
  /** Orders of each scenario at each provider. */
  readonly each: number;
}

/** Pure: every order of the run, in random order; the same seed gives the same. */
export function planCast({ seed, providers, scenarios, each }: Wanted): Role[] {
  const roles: Role[] = [];
  for (const scenario of scenarios) {
    for (const provider of providers) {
      if (!(scenario.providers ?? PROVIDERS).includes(provider)) continue;
      for (let number = 1; number <= Math.min(each, scenario.most ?? each); number += 1) {
        const id = `${scenario.name}-${provider}-${number}`.slice(0, 56);
        const random = new Random(seed ^ hash(id));
        roles.push({ id, scenario, provider, random, plan: scenario.plan(random, provider) });
      }
    }
  }
  const shuffled = new Random(seed).shuffled(roles);
  // The ones that take longest first, or everybody would wait for them at the end.
  return [
    ...shuffled.filter(({ scenario }) => scenario.isLong),
    ...shuffled.filter(({ scenario }) => !scenario.isLong),
  ];
}

/** FNV-1a: an order's numbers do not depend on which other orders are played. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const char of text) value = Math.imul(value ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return value >>> 0;
}

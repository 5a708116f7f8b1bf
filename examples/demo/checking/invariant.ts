import { type Facts } from './facts';

/** Something that must hold at the end of every run, whatever the seed, the transport and the faults. */
export interface Invariant {
  readonly name: string;
  readonly says: string;
  /** It is about what went over the broker, and left out where there is none. */
  readonly needsBroker?: true;
  /** One sentence for each thing that is not as it must be; empty: it holds. */
  readonly violations: (facts: Facts) => readonly string[];
}

/** An invariant and what was found. */
export interface CheckResult {
  readonly name: string;
  readonly says: string;
  readonly holds: boolean;
  readonly violations: readonly string[];
}

export function check(invariants: readonly Invariant[], facts: Facts): CheckResult[] {
  const known = invariants.filter(({ needsBroker = false }) => facts.hasBroker || !needsBroker);
  return known.map(({ name, says, violations }) => {
    const found = violations(facts);
    return { name, says, holds: found.length === 0, violations: found };
  });
}

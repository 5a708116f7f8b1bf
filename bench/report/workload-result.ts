import { type Contestant, type Medians, type Sample, type Workload } from '../contestant';
import { type Spread, spreadOf } from './spread';

/** Everything that was measured of one workload. */
export interface WorkloadResult {
  readonly workload: Workload;
  /** By contestant, in the order in which they take turns. */
  readonly samples: ReadonlyMap<Contestant, readonly Sample[]>;
  /** One sentence for each run that broke, or did not do its work. */
  readonly failures: readonly string[];
}

/** Of all rounds of one contestant. */
export function spreadFor(result: WorkloadResult, contestant: Contestant, metric: string): Spread | undefined {
  const samples = result.samples.get(contestant) ?? [];
  return spreadOf(samples.flatMap((sample) => sample[metric] ?? []));
}

/** What targets are judged by. */
export function mediansOf(results: readonly WorkloadResult[], id: string): Medians {
  const result = results.find(({ workload }) => workload.id === id);
  const contestants = result ? [...result.samples.keys()] : [];
  const of = (contestant: Contestant, metric: string): number | undefined =>
    result && spreadFor(result, contestant, metric)?.median;
  return {
    of: (name, metric) => contestants.filter((one) => one.name === name).map((one) => of(one, metric))[0],
    highest: (role, metric) => {
      const values = contestants.filter((one) => one.role === role).flatMap((one) => of(one, metric) ?? []);
      return values.length > 0 ? Math.max(...values) : undefined;
    },
    workload: (other) => mediansOf(results, other),
  };
}

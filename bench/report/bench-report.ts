import { type BenchOptions } from '../bench-options';
import { type Machine } from './machine';
import { mediansOf, spreadFor, type WorkloadResult } from './workload-result';

/** A target with what became of it. */
export interface JudgedTarget {
  readonly workload: string;
  readonly says: string;
  readonly value: number;
  readonly isMet: boolean;
}

/** What a benchmark found out. */
export interface BenchReport {
  readonly machine: Machine;
  readonly rounds: number;
  readonly isShort: boolean;
  readonly results: readonly WorkloadResult[];
  readonly targets: readonly JudgedTarget[];
}

/** Pure: judges the targets by the medians. */
export function makeReport(machine: Machine, options: BenchOptions, results: readonly WorkloadResult[]): BenchReport {
  const { rounds, isShort } = options;
  const targets = results.flatMap(({ workload }) =>
    (workload.targets ?? []).flatMap((target) => {
      const { says } = target;
      const judged = target.judge(mediansOf(results, workload.id));
      return judged ? [{ workload: workload.id, says, ...judged }] : [];
    }),
  );
  return { machine, rounds, isShort, results, targets };
}

/** Pure: the same for programs, with every single sample. */
export function toJson({ results, ...report }: BenchReport): string {
  const workloads = results.map((result) => ({
    id: result.workload.id,
    title: result.workload.title,
    failures: result.failures,
    contestants: [...result.samples].map(([contestant, samples]) => ({
      name: contestant.name,
      role: contestant.role,
      samples,
      spreads: Object.fromEntries(
        result.workload.metrics.flatMap(({ key }) => {
          const spread = spreadFor(result, contestant, key);
          return spread ? [[key, spread]] : [];
        }),
      ),
    })),
  }));
  return `${JSON.stringify({ ...report, workloads }, undefined, 2)}\n`;
}

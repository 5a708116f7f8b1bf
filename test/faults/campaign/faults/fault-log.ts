import { type Breach } from '../checks/verdict';
import { type FaultKind } from './fault-kind';

/** One fault as it happened; epoch milliseconds. */
export interface InjectedFault {
  readonly kind: FaultKind;
  readonly beganAt: number;
  /** When what was broken worked again. */
  endedAt: number;
  /** What exactly, for the reader of a trace. */
  says: string;
  /** Orders without this article are no concern of it. */
  sku?: string;
  /** Promises that the fault itself has seen broken. */
  readonly breaches: Breach[];
}

/** Every fault of the run, in the order in which they began. */
export class FaultLog {
  readonly faults: InjectedFault[] = [];
  readonly failures: string[] = [];

  begin(kind: FaultKind, says: string): InjectedFault {
    const fault = { kind, beganAt: Date.now(), endedAt: Infinity, says, breaches: [] };
    this.faults.push(fault);
    return fault;
  }

  /** Those that are not over, as `kind seconds`. */
  active(): string[] {
    const now = Date.now();
    const active = this.faults.filter(({ endedAt }) => endedAt > now);
    return active.map(({ kind, beganAt }) => `${kind} ${Math.round((now - beganAt) / 1_000)}`);
  }

  counts(): Map<FaultKind, number> {
    const counts = new Map<FaultKind, number>();
    for (const { kind } of this.faults) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return counts;
  }
}

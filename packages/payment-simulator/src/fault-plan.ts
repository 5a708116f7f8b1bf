import { type Clock } from './clock';
import { type Fault, type Operation } from './simulator-input';

interface PlannedFault {
  readonly fault: Fault;
  readonly from: number;
  readonly until: number;
  left: number;
}

/** Faults that are set, each with its window and the number of times it may still strike. */
export class FaultPlan {
  private planned: PlannedFault[] = [];

  constructor(
    private readonly clock: Clock,
    faults: readonly Fault[] = [],
  ) {
    for (const fault of faults) this.add(fault);
  }

  add(fault: Fault): void {
    const from = this.clock.now() + fault.afterMs;
    const until = fault.forMs === undefined ? Infinity : from + fault.forMs;
    this.planned.push({ fault, from, until, left: fault.times ?? Infinity });
  }

  clear(): void {
    this.planned = [];
  }

  /** Adds to `before` what strikes this call: every latency, and the first of the others. Uses them up. */
  strike(operation: Operation, before: readonly Fault[] = []): Fault[] {
    const now = this.clock.now();
    const struck: Fault[] = [...before];
    for (const one of this.planned) {
      const applies = one.left > 0 && now >= one.from && now < one.until && (one.fault.on ?? operation) === operation;
      if (!applies || (one.fault.fault !== 'latency' && struck.some(({ fault }) => fault !== 'latency'))) continue;
      one.left -= 1;
      struck.push(one.fault);
    }
    return struck;
  }
}

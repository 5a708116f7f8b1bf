import { type WakeUpResult, type WorkItem } from '../wake-ups/work-item';

interface OverdueRow {
  readonly key: string;
  readonly generation: string;
  readonly leased: boolean;
}

/**
 * Tells timeouts of one kind whose wake-ups got lost from those whose wake-ups are here and wait. Load alone makes timeouts
 * overdue, and must not look like a fault of the broker.
 */
export class OverdueWakeUps {
  private readonly inProgress = new Map<string, number>();
  private missing = new Set<string>();
  private isBehind = false;

  /** Call it when a wake-up has come, however late. It is in progress until `finish` of the result is called. */
  track(item: WorkItem): WorkItem {
    const { wakeUp } = item;
    const identity = identityOf(wakeUp.key, wakeUp.generation);
    this.inProgress.set(identity, (this.inProgress.get(identity) ?? 0) + 1);
    this.missing.delete(identity);
    const finish = (result: WakeUpResult): void => {
      this.ended(identity);
      item.finish(result);
    };
    return { wakeUp, finish };
  }

  /** A run of the sweep begins. */
  begin(): void {
    this.missing = new Set();
    this.isBehind = false;
  }

  /** The sweep has found these rows. */
  found(rows: readonly OverdueRow[]): void {
    for (const { key, generation, leased } of rows) {
      const identity = identityOf(key, generation);
      if (leased) continue;
      if (this.inProgress.has(identity)) this.isBehind = true;
      else this.missing.add(identity);
    }
  }

  /**
   * How many timeouts of the run no wake-up explains; fewer later, as late ones arrive. None when other wake-ups wait
   * here: then this process is behind, and so may be the others, whose wake-ups it does not see.
   */
  end(): () => number {
    const { missing } = this;
    return this.isBehind ? () => 0 : () => missing.size;
  }

  private ended(identity: string): void {
    const count = (this.inProgress.get(identity) ?? 0) - 1;
    if (count > 0) this.inProgress.set(identity, count);
    else this.inProgress.delete(identity);
  }
}

function identityOf(key: string, generation: string | null): string {
  return `${generation ?? '*'} ${key}`;
}

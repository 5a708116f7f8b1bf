import { type Clock, type Timer } from '../../clock';

/**
 * How batches that are settled gather. At 500 orders/s 10 ms give transactions of five instead of three, and each has nine
 * statements of its own. `besideMs` is longer than most take: a second one is for those that wait for a lock.
 */
export const GATHER = { waitMs: 10, besideMs: 20 } as const;

interface BatcherDependencies<T> {
  /** Most items in one run. */
  readonly size: number;
  /** How long the first item waits for others to join its batch, milliseconds. */
  readonly waitMs: number;
  /** The same while another run is in progress. The end of that run ends the wait, too. */
  readonly besideMs: number;
  /** Runs at once. */
  readonly concurrency: number;
  /** False: no further run begins until `poke`, for example while too many look-ups are open. */
  mayRun?(): boolean;
  /** Must not reject: it settles its items itself. */
  run(items: T[]): Promise<void>;
}

/**
 * Collects items into batches: a full batch runs at once, a smaller one after a short wait, and beside another run only
 * when that takes long: two transactions of three orders cost nearly twice as much as one of six.
 */
export class MicroBatcher<T> {
  private queue: T[] = [];
  private running = 0;
  private timer: Timer | undefined;
  private isRipe = false;
  private idle: (() => void)[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly deps: BatcherDependencies<T>,
  ) {}

  /** No item waits or is being run. */
  get isIdle(): boolean {
    return this.queue.length === 0 && this.running === 0;
  }

  /** Items that no run has begun. */
  get waiting(): number {
    return this.queue.length;
  }

  add(items: readonly T[]): void {
    if (items.length === 0) return;
    for (const item of items) this.queue.push(item);
    if (this.queue.length >= this.deps.size) this.isRipe = true;
    else this.timer ??= this.clock.after(this.waitMs, () => this.ripen());
    this.poke();
  }

  /** Looks again whether a batch may run. */
  poke(): void {
    while (this.isRipe && this.queue.length > 0 && this.running < this.deps.concurrency && this.mayRun()) {
      void this.runNext();
    }
    if (this.isIdle) for (const resolve of this.idle.splice(0)) resolve();
  }

  /** Takes back what no run has begun. */
  withdraw(): T[] {
    this.timer?.cancel();
    this.timer = undefined;
    this.isRipe = false;
    const items = this.queue.splice(0);
    this.poke();
    return items;
  }

  /** Resolves when nothing waits or runs. */
  whenIdle(): Promise<void> {
    return this.isIdle ? Promise.resolve() : new Promise((resolve) => this.idle.push(resolve));
  }

  private get waitMs(): number {
    return this.running > 0 ? this.deps.besideMs : this.deps.waitMs;
  }

  private mayRun(): boolean {
    return this.deps.mayRun?.() ?? true;
  }

  private ripen(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.isRipe = true;
    this.poke();
  }

  private async runNext(): Promise<void> {
    const items = this.queue.splice(0, this.deps.size);
    // What stays behind has waited already, so it goes with the next free run.
    if (this.queue.length === 0) {
      this.isRipe = false;
      this.timer?.cancel();
      this.timer = undefined;
    }
    this.running++;
    try {
      await this.deps.run(items);
    } finally {
      this.running--;
      if (this.queue.length > 0) this.ripen();
      else this.poke();
    }
  }
}

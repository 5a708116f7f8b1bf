import { cpus, loadavg } from 'node:os';

const EVERY_MS = 1_000;
/** Processes that want to run, for each core: up to here the bound is the one of a quiet machine. */
const BUSY_PER_CORE = 2;
/** However busy. */
const MOST = 2;

/** How busy the machine was, as others may be working on it: on one with ten times too much to do nothing is punctual. */
export class MachineLoad {
  private readonly samples: { readonly at: number; readonly perCore: number }[] = [];
  private timer: NodeJS.Timeout | undefined;

  start(): void {
    const take = (): void => void this.samples.push({ at: Date.now(), perCore: (loadavg()[0] ?? 0) / cpus().length });
    take();
    this.timer = setInterval(take, EVERY_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** The highest of the run, for each core. */
  get highest(): number {
    return this.samples.reduce((most, { perCore }) => Math.max(most, perCore), 0);
  }

  /** By how much the bound of an order that ended `at` is stretched: 1 on a machine that is not overloaded. */
  factorAt(at: number): number {
    const first = this.samples[0];
    if (!first) return 1;
    const index = Math.min(Math.max(Math.round((at - first.at) / EVERY_MS), 0), this.samples.length - 1);
    return Math.min(Math.max((this.samples[index]?.perCore ?? 0) / BUSY_PER_CORE, 1), MOST);
  }
}

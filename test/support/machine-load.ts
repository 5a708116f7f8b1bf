import { cpus, loadavg } from 'node:os';

const EVERY_MS = 1_000;
/** Processes that want to run, for each core: up to here a bound is the one of a quiet machine. */
export const BUSY_PER_CORE = 2;
/** Of what only has to happen at all. */
const MOST = 20;
/** Of what a run promises, however busy the machine was. */
const MOST_PROMISED = 2;

const perCoreNow = (): number => (loadavg()[0] ?? 0) / cpus().length;
const factorOf = (perCore: number, most: number): number => Math.min(Math.max(perCore / BUSY_PER_CORE, 1), most);

/** A time in milliseconds that is enough on a quiet machine, longer by as much as this one is overloaded at this moment. */
export function stretched(quietMs: number): number {
  return Math.ceil(quietMs * factorOf(perCoreNow(), MOST));
}

/** A limit for something that takes longer on a busy machine: the one of the busiest moment since it began. */
export class Patience {
  private readonly beganAt = performance.now();
  private limit: number;

  constructor(private readonly quietMs: number) {
    this.limit = quietMs;
  }

  get limitMs(): number {
    return (this.limit = Math.max(this.limit, stretched(this.quietMs)));
  }

  /** Until the limit, as far as it is known now; none or less: it has passed. */
  get leftMs(): number {
    return this.beganAt + this.limitMs - performance.now();
  }
}

/** How busy the machine was, as others may be working on it: on one with ten times too much to do nothing is punctual. */
export class MachineLoad {
  private readonly samples: { readonly at: number; readonly perCore: number }[] = [];
  private timer: NodeJS.Timeout | undefined;

  start(): void {
    const take = (): void => void this.samples.push({ at: Date.now(), perCore: perCoreNow() });
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
    return factorOf(this.samples[index]?.perCore ?? 0, MOST_PROMISED);
  }
}

import { type Agenda } from './agenda';
import { type Random } from './random';
import { type Trace } from './trace';

const COUNT = 3;

/** One wake-up in the hands of one worker. */
export interface Errand {
  readonly name: string;
  /** Goes on after a while, unless the worker has died meanwhile. */
  after(ms: number, run: () => void): void;
  /** The worker dies with all its work; unacked messages come again. */
  crash(when: string): void;
}

interface Worker {
  readonly name: string;
  /** Grows with every death, so that what was begun before it is recognized. */
  life: number;
  deadUntilMs: number;
}

/** The processes that handle timeouts. */
export class Workers {
  private readonly workers: Worker[];

  constructor(
    private readonly agenda: Agenda,
    private readonly random: Random,
    private readonly trace: Trace,
  ) {
    this.workers = Array.from({ length: COUNT }, (_, index) => ({
      name: `worker ${index + 1}`,
      life: 0,
      deadUntilMs: 0,
    }));
  }

  /** Undefined: nobody is there, and the message will come again. */
  errand(redeliver?: () => void): Errand | undefined {
    const alive = this.workers.filter((worker) => worker.deadUntilMs <= this.agenda.nowMs);
    const worker = alive[this.random.between(0, alive.length - 1)];
    if (!worker) {
      if (redeliver) this.agenda.after(1_000, redeliver);
      return undefined;
    }
    return this.errandOf(worker, redeliver);
  }

  private errandOf(worker: Worker, redeliver?: () => void): Errand {
    const { life } = worker;
    let again = redeliver;
    const die = (): void => {
      if (again) this.agenda.after(this.random.between(10, 3_000), again);
      again = undefined;
    };
    return {
      name: worker.name,
      after: (ms, run) => this.agenda.after(ms, () => (worker.life === life ? run() : die())),
      crash: (when) => {
        this.trace.note(() => `${worker.name} dies ${when}`);
        worker.life++;
        worker.deadUntilMs = this.agenda.nowMs + this.random.between(500, 40_000);
        die();
      },
    };
  }
}

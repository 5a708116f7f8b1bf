import { setTimeout as sleep } from 'node:timers/promises';

/** Those that were kept waiting do not all begin at the same moment: nobody could tell them apart. */
const PACE_MS = 500;

/** Most faults run side by side; some need all others to be over, and keep those that come meanwhile waiting. */
export class TakingTurns {
  private lastAlone: Promise<unknown> = Promise.resolve();
  private readonly together = new Set<Promise<unknown>>();
  private nextAt = -Infinity;

  beside<T>(work: () => Promise<T>): Promise<T> {
    const done = this.lastAlone.then(() => this.pace()).then(work);
    const settled = done.catch(() => undefined).finally(() => this.together.delete(settled));
    this.together.add(settled);
    return done;
  }

  alone<T>(work: () => Promise<T>): Promise<T> {
    const before = Promise.all([this.lastAlone, ...this.together]);
    const done = before.then(work);
    this.lastAlone = done.catch(() => undefined);
    return done;
  }

  private async pace(): Promise<void> {
    const waitMs = Math.max(this.nextAt - performance.now(), 0);
    this.nextAt = performance.now() + waitMs + PACE_MS;
    await sleep(waitMs);
  }
}

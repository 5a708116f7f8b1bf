/** Most faults run side by side; some need all others to be over, and keep those that come meanwhile waiting. */
export class TakingTurns {
  private lastAlone: Promise<unknown> = Promise.resolve();
  private readonly together = new Set<Promise<unknown>>();

  beside<T>(work: () => Promise<T>): Promise<T> {
    const done = this.lastAlone.then(work);
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
}

/** Batches on their way at the same time. What one of them fails with is kept for whoever waits next. */
export class BatchesInHand {
  private readonly open = new Set<Promise<void>>();
  private readonly ended: Promise<boolean>[] = [];

  /** `batch` tells whether all of it arrived. */
  add(batch: Promise<boolean>): void {
    const ending = batch
      .catch(() => false)
      .then(() => {
        this.open.delete(ending);
        this.ended.push(batch);
      });
    this.open.add(ending);
  }

  /**
   * Waits until no more than `count` are left. False when one that has ended since the last call did not wholly arrive.
   * @throws what one of them failed with
   */
  async untilLeft(count: number): Promise<boolean> {
    while (this.open.size > count) await Promise.race(this.open);
    const arrived = await Promise.all(this.ended.splice(0));
    return arrived.every(Boolean);
  }
}

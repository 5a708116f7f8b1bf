/** Batches in flight. The error of a failed one is kept for the next caller that waits. */
export class BatchesInFlight {
  private readonly open = new Set<Promise<void>>();
  private readonly ended: Promise<boolean>[] = [];
  private bytes = 0;

  /** `batch` tells whether the broker took all of it; it holds so many `bytes` in memory. */
  add(batch: Promise<boolean>, bytes: number): void {
    this.bytes += bytes;
    const ending = batch
      .catch(() => false)
      .then(() => {
        this.open.delete(ending);
        this.bytes -= bytes;
        this.ended.push(batch);
      });
    this.open.add(ending);
  }

  /**
   * Waits until at most `count` batches and `bytes` bytes are left. False if the broker did not take all of a batch that has
   * ended since the last call.
   * @throws what one of them failed with
   */
  async untilLeft(count: number, bytes = Infinity): Promise<boolean> {
    while (this.open.size > count || this.bytes > bytes) await Promise.race(this.open);
    const taken = await Promise.all(this.ended.splice(0));
    return taken.every(Boolean);
  }
}

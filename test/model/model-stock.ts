type LineState = 'RESERVED' | 'RELEASED' | 'COMMITTED';

interface Line {
  state: LineState;
  readonly quantity: number;
  committed: number;
}

/** The stock of one sku, kept by counters as in the database; `problems` recounts it from the lines. */
export class ModelStock {
  private readonly lines = new Map<string, Line>();
  private reserved = 0;
  private onHand: number;

  constructor(private readonly initial: number) {
    this.onHand = initial;
  }

  /** False: not enough. */
  reserve(orderId: string, quantity: number): boolean {
    if (this.onHand - this.reserved < quantity) return false;
    this.lines.set(orderId, { state: 'RESERVED', quantity, committed: 0 });
    this.reserved += quantity;
    return true;
  }

  /** Only what was released is taken again. */
  reserveAgain(orderId: string): boolean {
    const line = this.lines.get(orderId);
    if (line?.state !== 'RELEASED' || this.onHand - this.reserved < line.quantity) return false;
    line.state = 'RESERVED';
    this.reserved += line.quantity;
    return true;
  }

  release(orderId: string): void {
    const line = this.lines.get(orderId);
    if (line?.state !== 'RESERVED') return;
    line.state = 'RELEASED';
    this.reserved -= line.quantity;
  }

  commit(orderId: string): void {
    const line = this.lines.get(orderId);
    if (line?.state !== 'RESERVED') return;
    line.state = 'COMMITTED';
    line.committed++;
    this.reserved -= line.quantity;
    this.onHand -= line.quantity;
  }

  stateOf(orderId: string): LineState | undefined {
    return this.lines.get(orderId)?.state;
  }

  /** Where counters and lines disagree. */
  problems(): string[] {
    let reserved = 0;
    let sold = 0;
    const problems: string[] = [];
    for (const [orderId, line] of this.lines) {
      if (line.state === 'RESERVED') reserved += line.quantity;
      if (line.state === 'COMMITTED') sold += line.quantity;
      if (line.committed > 1) problems.push(`the goods of ${orderId} were sold ${line.committed} times`);
    }
    if (reserved !== this.reserved) problems.push(`counted ${reserved} reserved, the counter says ${this.reserved}`);
    if (this.onHand !== this.initial - sold) problems.push(`${this.onHand} on hand of ${this.initial}, sold ${sold}`);
    if (this.onHand < this.reserved || this.reserved < 0)
      problems.push(`${this.onHand} on hand, ${this.reserved} reserved`);
    return problems;
  }
}

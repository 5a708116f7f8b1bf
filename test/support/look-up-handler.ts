import { DONE, type DueTimeout, LOOK_UP, type TimeoutHandlerBatch, type TimeoutOutcome } from '../../src/timeouts';

/** Looks every timeout up, and is done with it once the answer is there. Subclasses name the kind. */
export class LookUpHandler implements TimeoutHandlerBatch<string> {
  /** The keys that were looked up, in order. */
  readonly asked: string[] = [];
  /** The answers that came to a decision. */
  readonly settled: string[] = [];

  constructor(private readonly answer: (signal: AbortSignal) => Promise<string>) {}

  async handleBatch(due: readonly DueTimeout<string>[]): Promise<TimeoutOutcome[]> {
    this.settled.push(...due.flatMap(({ answer }) => answer ?? []));
    return due.map(({ answer }) => (answer === undefined ? LOOK_UP : DONE));
  }

  lookUp({ key }: DueTimeout<string>, signal: AbortSignal): Promise<string> {
    this.asked.push(key);
    return this.answer(signal);
  }
}

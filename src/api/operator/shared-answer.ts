import { type Clock } from '../../clock';

interface Kept<T> {
  readonly answer: Promise<T>;
  readonly until: number;
}

/** Answers for several callers at once: one question within the time that an answer stays good, however many ask. */
export class SharedAnswer<T> {
  private readonly kept = new Map<string, Kept<T>>();

  /** @param goodForMs how long an answer is given again, in milliseconds. */
  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly goodForMs: number,
  ) {}

  /** @param name callers with the same name share the answer. @param ask how to get it; a failure is not kept. */
  get(name: string, ask: () => Promise<T>): Promise<T> {
    const now = this.clock.monotonic();
    const known = this.kept.get(name);
    if (known && known.until > now) return known.answer;
    for (const [other, { until }] of this.kept) if (until <= now) this.kept.delete(other);
    const answer = ask();
    this.kept.set(name, { answer, until: now + this.goodForMs });
    answer.catch(() => this.kept.delete(name));
    return answer;
  }
}

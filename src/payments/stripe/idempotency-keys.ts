/** As many payments are remembered; the oldest is forgotten, which costs one more call for it. */
const MAX_REMEMBERED = 10_000;

/**
 * Idempotency keys `{subject}:{n}`. Stripe keeps the first result of a key for 24 h, refusals and 500s too, so a
 * result that was seen calls for the next key. Without an answer the key stays: it finds out what came of the lost
 * call.
 */
export class IdempotencyKeys {
  private readonly numbers = new Map<string, number>();

  current(subject: string): string {
    return `${subject}:${this.numbers.get(subject) ?? 1}`;
  }

  /** The current key is used up. */
  advance(subject: string): void {
    const next = (this.numbers.get(subject) ?? 1) + 1;
    this.numbers.delete(subject);
    this.numbers.set(subject, next);
    const [oldest] = this.numbers.keys();
    if (this.numbers.size > MAX_REMEMBERED && oldest !== undefined) this.numbers.delete(oldest);
  }
}

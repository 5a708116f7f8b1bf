/** Above this number, the oldest payment is forgotten, which costs one more call for it. */
const MAX_REMEMBERED = 10_000;

/**
 * Idempotency keys `{subject}:{n}`. Stripe stores the first result of a key for 24 h, including refusals and 500s, so
 * after a result the next call needs a new key. After a call without an answer the key stays: repeating it returns the
 * result of the lost call.
 */
export class IdempotencyKeys {
  private readonly numbers = new Map<string, number>();

  current(subject: string): string {
    return `${subject}:${this.numbers.get(subject) ?? 1}`;
  }

  /** Call it when Stripe has stored a result for the current key. */
  advance(subject: string): void {
    const next = (this.numbers.get(subject) ?? 1) + 1;
    this.numbers.delete(subject);
    this.numbers.set(subject, next);
    const [oldest] = this.numbers.keys();
    if (this.numbers.size > MAX_REMEMBERED && oldest !== undefined) this.numbers.delete(oldest);
  }
}

/** The header has whole seconds, and the answer takes time: what is less may be no difference at all. */
const TRUSTED_DIFFERENCE_MS = 2_000;

/** The service's time, as deadlines are the service's: the clock of this computer may be wrong. */
export class ServerClock {
  private aheadMs = 0;

  constructor(private readonly localNow: () => number) {}

  /** Milliseconds since 1970. */
  now(): number {
    return this.localNow() + this.aheadMs;
  }

  /** @param date the header `Date` of an answer */
  note(date: string | null): void {
    const difference = Date.parse(date ?? '') - this.localNow();
    if (Number.isNaN(difference)) return;
    this.aheadMs = Math.abs(difference) > TRUSTED_DIFFERENCE_MS ? difference : 0;
  }
}

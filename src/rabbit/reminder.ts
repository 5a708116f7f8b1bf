import { type Clock } from '../clock';

/** Far enough apart to keep the log readable, and close enough for a reader of only its end. */
const REMIND_MS = 3_600_000;

/** Logs a lasting problem once, and again every hour. */
export class Reminder {
  private last: { readonly text: string; readonly at: number } | undefined;

  constructor(private readonly clock: Clock) {}

  /** Whether to log it now: it is new, or was logged an hour ago. */
  isDue(text: string): boolean {
    const now = this.clock.monotonic();
    if (this.last?.text === text && now - this.last.at < REMIND_MS) return false;
    this.last = { text, at: now };
    return true;
  }

  /** The problem is over. Its next occurrence counts as new. */
  reset(): void {
    this.last = undefined;
  }
}

import { type Clock } from '../clock';

/** Far apart enough to leave the log readable, and near enough for whoever reads only the end of it. */
const REMIND_MS = 3_600_000;

/** Tells what goes on for hours in one line, and again every hour. */
export class Reminder {
  private last: { readonly text: string; readonly at: number } | undefined;

  constructor(private readonly clock: Clock) {}

  /** Whether to say it now: it is new, or was said an hour ago. */
  isDue(text: string): boolean {
    const now = this.clock.monotonic();
    if (this.last?.text === text && now - this.last.at < REMIND_MS) return false;
    this.last = { text, at: now };
    return true;
  }

  /** It is over: the next time is the first. */
  reset(): void {
    this.last = undefined;
  }
}

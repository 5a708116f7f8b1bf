/** What happened in one run, for people; costs nothing while it is off. */
export class Trace {
  readonly lines: string[] = [];

  constructor(
    private readonly isOn: boolean,
    private readonly startMs: number,
    private readonly nowMs: () => number,
  ) {}

  note(tell: () => string): void {
    if (!this.isOn) return;
    const seconds = ((this.nowMs() - this.startMs) / 1_000).toFixed(3);
    this.lines.push(`${seconds.padStart(12)} s  ${tell()}`);
  }
}

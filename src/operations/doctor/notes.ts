import { type DoctorReport, type Finding, type Unchecked } from './finding';

/** Gathers what the examinations find. */
export class Notes {
  private readonly findings: Finding[] = [];
  private readonly unchecked: Unchecked[] = [];
  private readonly facts: Record<string, string | number> = {};

  fact(name: string, value: string | number): void {
    this.facts[name] = value;
  }

  error(id: string, seen: string, remedy: string): void {
    this.findings.push({ id, severity: 'error', seen, remedy });
  }

  warning(id: string, seen: string, remedy: string): void {
    this.findings.push({ id, severity: 'warning', seen, remedy });
  }

  /** `what` could not be looked at. */
  skip(what: string, why: string): void {
    this.unchecked.push({ what, why });
  }

  /** Runs one examination. If it fails, the others are still worth knowing. */
  async examine(what: string, examination: () => Promise<void>): Promise<void> {
    try {
      await examination();
    } catch (error) {
      this.skip(what, error instanceof Error ? error.message : String(error));
    }
  }

  /** Errors first. */
  get report(): DoctorReport {
    const rank = { error: 0, warning: 1 } as const;
    const findings = [...this.findings].sort((a, b) => rank[a.severity] - rank[b.severity]);
    const [worst] = findings;
    return { status: worst?.severity ?? 'ok', findings, facts: this.facts, unchecked: this.unchecked };
  }
}

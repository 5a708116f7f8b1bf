import { inTime, SystemClock } from '../../clock';
import { packageVersion, messageOf } from '../../errors';

/** Of one examination. Each question has a shorter limit of its own where the answer is likely to stay away. */
const LIMIT_MS = 30_000;

export class Notes {
  private readonly findings: Finding[] = [];
  private readonly unchecked: Unchecked[] = [];
  private readonly facts: Record<string, string | number> = {};
  private readonly clock = new SystemClock();

  fact(name: string, value: string | number): void {
    this.facts[name] = value;
  }

  error(id: string, seen: string, remedy: string): void {
    this.add({ id, severity: 'error', seen, remedy });
  }

  warning(id: string, seen: string, remedy: string): void {
    this.add({ id, severity: 'warning', seen, remedy });
  }

  /** A later examination shows that what was seen about `what` does no harm. */
  withdraw(id: string, what: string): void {
    const index = this.findings.findIndex((finding) => finding.id === id && finding.seen.includes(what));
    if (index >= 0) this.findings.splice(index, 1);
  }

  /** `what` could not be looked at. */
  skip(what: string, why: string): void {
    this.unchecked.push({ what, why });
  }

  /** Runs one examination. If it fails or takes too long, the others are still worth knowing: then undefined. */
  async examine<T>(what: string, examination: () => Promise<T>): Promise<T | undefined> {
    try {
      return await inTime(
        this.clock,
        LIMIT_MS,
        examination(),
        () => new Error(`no answer within ${LIMIT_MS / 1_000} s`),
      );
    } catch (error) {
      this.skip(what, messageOf(error));
      return undefined;
    }
  }

  /** Two examinations may meet the same thing. */
  private add(finding: Finding): void {
    const isKnown = this.findings.some(({ id, seen }) => id === finding.id && seen === finding.seen);
    if (!isKnown) this.findings.push(finding);
  }

  /** Errors first. */
  get report(): DoctorReport {
    const rank = { error: 0, warning: 1 } as const;
    const findings = [...this.findings].sort((a, b) => rank[a.severity] - rank[b.severity]);
    const [worst] = findings;
    return { status: worst?.severity ?? 'ok', findings, facts: this.facts, unchecked: this.unchecked };
  }
}

/** How bad a finding is. `error`: something does not work. `warning`: it will not for long, or only by luck. */
export type Severity = 'error' | 'warning';

export interface Finding {
  /** Stable across releases, for example `queue-arguments`. */
  readonly id: string;
  readonly severity: Severity;
  /** What was seen, with the values. */
  readonly seen: string;
  readonly remedy: string;
}

export interface Unchecked {
  readonly what: string;
  readonly why: string;
}

export interface DoctorReport {
  /** `warning`, `error`: the worst of the findings. */
  readonly status: 'ok' | Severity;
  readonly findings: readonly Finding[];
  /** What was seen and is in order, by name. */
  readonly facts: Readonly<Record<string, string | number>>;
  readonly unchecked: readonly Unchecked[];
}

/** From where on something is a finding. */
export interface DoctorLimits {
  /** Difference between the clocks of host and database, milliseconds. */
  readonly clockMs: number;
  /** Age of a transaction, seconds. */
  readonly transactionS: number;
  readonly deadRows: number;
  /** Dead rows for each live one. */
  readonly deadShare: number;
  /** How long the most overdue timeout has been waiting, seconds. */
  readonly overdueS: number;
  /** How long a timeout has failed since its deadline, seconds. */
  readonly failingS: number;
  /** How long a provider has not told what became of an order, seconds. */
  readonly providerS: number;
  /** Time since the deadline of an order that is not decided, seconds. */
  readonly undecidedS: number;
  /** Age of the oldest message that should be on the broker, seconds. */
  readonly outboxS: number;
  /** How long a message may take through the delay transport beyond its delay, milliseconds. */
  readonly probeMs: number;
}

/** The limits of the alerts in docs/runbook.md, where it has one. */
export const DOCTOR_LIMITS: DoctorLimits = {
  clockMs: 1_000,
  transactionS: 60,
  // Vacuum begins at 1,000 dead rows and 1 % of the table, so these tables have far fewer while it keeps up.
  deadRows: 20_000,
  deadShare: 0.2,
  overdueS: 30,
  failingS: 60,
  // The third look-up is 4 s after the first one.
  providerS: 10,
  undecidedS: 3_600,
  outboxS: 60,
  probeMs: 5_000,
};

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** @param release undefined: of a time when instances did not tell it @param where it is connected to */
export function noteRelease(notes: Notes, release: string | undefined, host: string, where: string): void {
  const own = packageVersion();
  if (release !== undefined && !isOlder(release, own)) return;
  const seen = `An instance of ${release === undefined ? 'an earlier release' : `release ${release}`} is connected to the ${where} from ${host}, beside release ${own}.`;
  const remedy =
    'Finish the rollout, or stop that instance: it may refuse what newer instances have written (docs/migrations.md, "Two releases side by side").';
  notes.warning('older-instance', seen, remedy);
}

function isOlder(release: string, than: string): boolean {
  const [a, b] = [release, than].map((version) => version.split(/[.-]/).slice(0, 3).map(Number));
  const place = [0, 1, 2].find((index) => a?.[index] !== b?.[index]);
  return place !== undefined && (a?.[place] ?? 0) < (b?.[place] ?? 0);
}

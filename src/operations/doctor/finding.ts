/** How bad a finding is. `error`: something does not work. `warning`: it will not for long, or only by luck. */
export type Severity = 'error' | 'warning';

/** One thing that is wrong. */
export interface Finding {
  /** Stable across releases, for example `queue-arguments`. */
  readonly id: string;
  readonly severity: Severity;
  /** What was seen, with the values. */
  readonly seen: string;
  /** What to do. */
  readonly remedy: string;
}

/** Something that could not be looked at. */
export interface Unchecked {
  readonly what: string;
  readonly why: string;
}

/** What the doctor has found. */
export interface DoctorReport {
  /** `warning`, `error`: the worst of the findings. */
  readonly status: 'ok' | Severity;
  readonly findings: readonly Finding[];
  /** What was seen and is in order, by name. */
  readonly facts: Readonly<Record<string, string | number>>;
  readonly unchecked: readonly Unchecked[];
}

/** Every kind of fault that a campaign injects. */
export const FAULT_KINDS = [
  'kill-instance',
  'crash-point',
  'freeze-short',
  'freeze-beyond-lease',
  'terminate-backends',
  'kill-database',
  'restart-database',
  'long-transaction',
  'kill-broker',
  'restart-broker',
  'purge-queue',
  'delete-work-queue',
  'delete-delay-exchange',
  'channel-error',
  'disk-alarm',
  'half-open-database',
  'half-open-broker',
  'half-open-provider',
  'cut-database',
  'cut-broker',
  'provider-hangs',
  'provider-errors',
  'provider-lies',
  'clock-jump',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** What a fault excuses. */
export interface Excuse {
  /** How long after the fault its traces may last, beyond the time in which it was active, milliseconds. */
  readonly afterMs: number;
  /** Whose work stops while it is active: that time is added to the bound. */
  readonly stops: 'everything' | 'questions' | 'nothing';
}

/** A message was lost or is held by somebody dead: the sweep comes every 30 s for what is overdue by 5 s, of which 5 are free. */
const SWEEP_MS = 30_000;
/** The lease of an outbox row or of a question, and then the sweep. */
const LEASE_MS = 30_000;
/** Questions are repeated after 5 s, + 20 %, and not before the breaker closes after 5 s. */
const QUESTION_MS = 15_000;
/** A client gives up a silent session after 10 s, the server ends its transaction after 5 s; then comes who waited. */
const DEAD_SESSION_MS = 20_000;
/** Work in hand is done again at once, or after a pause of some seconds. */
const AGAIN_MS = 10_000;

/** Why an order may be late, by kind; the rule is told in docs/fault-campaign.md. */
export const EXCUSES: Readonly<Record<FaultKind, Excuse>> = {
  'kill-instance': { afterMs: LEASE_MS, stops: 'nothing' },
  'crash-point': { afterMs: LEASE_MS, stops: 'nothing' },
  // What it holds, transactions included, nobody else gets.
  'freeze-short': { afterMs: LEASE_MS, stops: 'everything' },
  'freeze-beyond-lease': { afterMs: LEASE_MS, stops: 'everything' },
  'terminate-backends': { afterMs: AGAIN_MS, stops: 'nothing' },
  'kill-database': { afterMs: SWEEP_MS, stops: 'everything' },
  'restart-database': { afterMs: SWEEP_MS, stops: 'everything' },
  'long-transaction': { afterMs: AGAIN_MS, stops: 'everything' },
  'kill-broker': { afterMs: SWEEP_MS, stops: 'nothing' },
  'restart-broker': { afterMs: SWEEP_MS, stops: 'nothing' },
  'purge-queue': { afterMs: SWEEP_MS, stops: 'nothing' },
  'delete-work-queue': { afterMs: SWEEP_MS, stops: 'nothing' },
  'delete-delay-exchange': { afterMs: SWEEP_MS, stops: 'nothing' },
  'channel-error': { afterMs: AGAIN_MS, stops: 'nothing' },
  'disk-alarm': { afterMs: SWEEP_MS, stops: 'nothing' },
  // Sessions that died in a transaction keep their locks until the server ends them.
  'half-open-database': { afterMs: DEAD_SESSION_MS, stops: 'everything' },
  'half-open-broker': { afterMs: SWEEP_MS, stops: 'nothing' },
  'half-open-provider': { afterMs: QUESTION_MS, stops: 'questions' },
  'cut-database': { afterMs: AGAIN_MS, stops: 'nothing' },
  'cut-broker': { afterMs: AGAIN_MS, stops: 'nothing' },
  'provider-hangs': { afterMs: QUESTION_MS, stops: 'questions' },
  'provider-errors': { afterMs: QUESTION_MS, stops: 'questions' },
  'provider-lies': { afterMs: QUESTION_MS, stops: 'questions' },
  'clock-jump': { afterMs: QUESTION_MS, stops: 'questions' },
};

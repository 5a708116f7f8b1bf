import { type FaultKind } from '../faults/fault-kind';

/** What a fault excuses. */
export interface Excuse {
  /** How long after the fault its traces may last, beyond the time in which it was active, milliseconds. */
  readonly afterMs: number;
  /** Whose work stops while it is active: that time is added to the bound. */
  readonly stops: 'everything' | 'questions' | 'nothing';
  /** Only orders that fall due within this time of its end; without it, all that live while it is active. */
  readonly withinMs?: number;
}

/** What a fault excuses for the events of orders. */
export interface EventExcuse {
  readonly afterMs: number;
  /** Nothing can be published while it is active. */
  readonly stops: boolean;
}

/** A message was lost or is held by somebody dead: the sweep comes every 2 s for what is overdue by 3 s, and other faults keep it from its work. */
const SWEEP_MS = 10_000;
/** The lease of an outbox row or of a question, and then the sweep. */
const LEASE_MS = 30_000;
/** Questions are repeated after 2 s, + 20 %, each has 5 s, and the breaker closes after 2 s. */
const QUESTION_MS = 15_000;
/** A client gives up a silent session after 10 s, the server ends its transaction after 5 s; then comes who waited. */
const DEAD_SESSION_MS = 20_000;
/** Work in progress is done again at once, or after a pause of some seconds. */
const AGAIN_MS = 10_000;
/** A broker that has never heard of us is noticed at once, and gets every pending wake-up again. */
const REPUBLISHED_MS = 10_000;

/** Why an order may be late, by kind; the rule is told in docs/internals/fault-campaign.md. */
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
  // Only for orders of the article; see InjectedFault.sku.
  'lock-a-stock-row': { afterMs: AGAIN_MS, stops: 'everything' },
  'read-only-failover': { afterMs: AGAIN_MS, stops: 'everything' },
  'silent-database-connection': { afterMs: DEAD_SESSION_MS, stops: 'nothing' },
  'silent-broker-connection': { afterMs: SWEEP_MS, stops: 'nothing' },
  'suspend-one-queue': { afterMs: SWEEP_MS, stops: 'nothing' },
  'hang-a-handler': { afterMs: LEASE_MS, stops: 'nothing' },
  'oversized-event': { afterMs: 0, stops: 'nothing' },
  'long-snapshot': { afterMs: 0, stops: 'nothing' },
  'promote-standby': { afterMs: AGAIN_MS, stops: 'everything' },
  'two-releases': { afterMs: AGAIN_MS, stops: 'nothing' },
  'empty-broker': { afterMs: SWEEP_MS, stops: 'nothing', withinMs: REPUBLISHED_MS },
  // It counts as over when the service must have noticed; see path-faults.ts.
  'path-that-drops': { afterMs: SWEEP_MS, stops: 'nothing', withinMs: 0 },
  'connection-killing-publish': { afterMs: SWEEP_MS, stops: 'nothing' },
  'freeze-long': { afterMs: LEASE_MS, stops: 'everything' },
  'refused-logins': { afterMs: AGAIN_MS, stops: 'everything' },
  'connection-limit': { afterMs: AGAIN_MS, stops: 'everything' },
  'missing-right': { afterMs: AGAIN_MS, stops: 'everything' },
  'memory-alarm': { afterMs: SWEEP_MS, stops: 'nothing' },
  'missing-permissions': { afterMs: SWEEP_MS, stops: 'nothing' },
  'hasty-policy': { afterMs: SWEEP_MS, stops: 'nothing' },
  'full-disk': { afterMs: AGAIN_MS, stops: 'everything' },
};

/** A row of the outbox whose relay is gone waits for the end of its lease, as does one whose confirm never comes. */
const EVENT_LEASE_MS = 45_000;

const HELD_BY_THE_DEAD: EventExcuse = { afterMs: EVENT_LEASE_MS, stops: false };
const AWAY: EventExcuse = { afterMs: EVENT_LEASE_MS, stops: true };

/** Why an event may be late. What is not named here is no excuse at all. */
export const EVENT_EXCUSES: Readonly<Partial<Record<FaultKind, EventExcuse>>> = {
  'kill-instance': HELD_BY_THE_DEAD,
  'crash-point': HELD_BY_THE_DEAD,
  'freeze-short': HELD_BY_THE_DEAD,
  'freeze-beyond-lease': HELD_BY_THE_DEAD,
  'terminate-backends': HELD_BY_THE_DEAD,
  'kill-database': AWAY,
  'restart-database': AWAY,
  'kill-broker': AWAY,
  'restart-broker': AWAY,
  'disk-alarm': AWAY,
  'channel-error': HELD_BY_THE_DEAD,
  'half-open-database': AWAY,
  'half-open-broker': AWAY,
  'cut-database': HELD_BY_THE_DEAD,
  'cut-broker': HELD_BY_THE_DEAD,
  'read-only-failover': AWAY,
  'silent-database-connection': HELD_BY_THE_DEAD,
  'silent-broker-connection': HELD_BY_THE_DEAD,
  'promote-standby': AWAY,
  'two-releases': HELD_BY_THE_DEAD,
  'empty-broker': AWAY,
  'freeze-long': HELD_BY_THE_DEAD,
  'refused-logins': AWAY,
  'connection-limit': AWAY,
  'missing-right': AWAY,
  'memory-alarm': AWAY,
  'missing-permissions': AWAY,
  'full-disk': AWAY,
};

import { type TimeoutOutcome } from './handlers/timeout-outcome';

/**
 * The status of a timeout. A timeout that is done has no row.
 * - `pending`: waits for its time, or for a worker.
 * - `leased`: its look-up is running. Due again by itself when the lease ends.
 * - `parked`: set aside; only a person makes it go on.
 */
export const TIMEOUT_STATUSES = ['pending', 'leased', 'parked'] as const;
export type TimeoutStatus = (typeof TIMEOUT_STATUSES)[number];

/** The state that the row stores. A lease is a column of its own. */
export type TimeoutState = Exclude<TimeoutStatus, 'leased'>;

/** What the database has of a timeout. `absent`: no row. */
export type TimeoutPresence = TimeoutStatus | 'absent';

/** What is done to a timeout: what a caller asks for, what its handler says of it, and what an operator does. */
export type TimeoutAction = 'schedule' | 'cancel' | TimeoutOutcome['type'] | 'replay' | 'discard';

interface TimeoutStep {
  readonly from: readonly TimeoutPresence[];
  readonly to: TimeoutPresence;
}

const DUE = ['pending', 'leased'] as const satisfies readonly TimeoutPresence[];

/** @internal For tests and diagrams: what each action does. In a status that is not in `from`, it changes nothing. */
export const TIMEOUT_STEPS = {
  // Takes a new generation, so what is under way for the row before comes to nothing.
  schedule: { from: ['absent', 'pending', 'leased', 'parked'], to: 'pending' },
  cancel: { from: ['pending', 'leased', 'parked'], to: 'absent' },
  done: { from: DUE, to: 'absent' },
  'look-up': { from: DUE, to: 'leased' },
  retry: { from: DUE, to: 'pending' },
  reschedule: { from: DUE, to: 'pending' },
  park: { from: DUE, to: 'parked' },
  replay: { from: ['parked'], to: 'pending' },
  discard: { from: ['parked'], to: 'absent' },
} as const satisfies Record<TimeoutAction, TimeoutStep>;

import { type TimeoutOutcome } from '../timeouts';

/** Another transaction works on the order; it is short, as none of ours waits for anything remote. */
export const BUSY: TimeoutOutcome = { type: 'retry', counted: false, afterMs: 200, reason: 'the order row is locked' };

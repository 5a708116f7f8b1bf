import { type CheckedBench } from './checked-bench';

/** What one case of the suite does; rejects with an error that says what is wrong. */
export type Check = (bench: CheckedBench) => Promise<void>;

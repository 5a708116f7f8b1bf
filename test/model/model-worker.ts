import { parentPort } from 'node:worker_threads';
import { tally, type TallyPlan } from './tally';
import { WEAKER } from './weaker-wirings';
import { OURS } from './wiring';

/** A portion of the runs of one variant. */
export interface Portion extends TallyPlan {
  readonly variant: string;
}

parentPort?.on('message', ({ variant, ...plan }: Portion) => {
  const wiring = [OURS, ...WEAKER].find(({ name }) => name === variant) ?? OURS;
  parentPort?.postMessage(tally(wiring, plan));
});

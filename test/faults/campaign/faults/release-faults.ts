import { setTimeout as sleep } from 'node:timers/promises';
import { type Fault } from './fault';
import { withInstance } from './with-instance';

/** A roll-out that is halted half-way: one instance runs the release before this one, on the tables of this one. */
export const runOldRelease: Fault = (scene, random, entry) =>
  withInstance(scene, random, async (instance) => {
    const ms = random.between(5_000, 12_000);
    entry.says = `instance ${instance.number} for ${ms} ms`;
    await instance.stop();
    await instance.startPrevious();
    await sleep(ms, undefined, { signal: scene.signal });
    await instance.stop();
    await instance.start();
  });

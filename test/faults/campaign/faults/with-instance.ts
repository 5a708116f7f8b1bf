import { setTimeout as sleep } from 'node:timers/promises';
import { type Random } from '../../../support/buyers/random';
import { type Instance } from '../stage/instance';
import { type Scene } from './fault';

/** An instance that no other fault uses, once there are two of them: one always runs on. */
export async function withInstance(
  { stage, signal }: Scene,
  random: Random,
  work: (instance: Instance) => Promise<void>,
): Promise<void> {
  for (;;) {
    await reviveDead(stage.instances);
    const free = stage.instances.filter(({ isTaken, isRunning }) => !isTaken && isRunning);
    const instance = free[random.between(0, free.length - 1)];
    if (instance && (free.length > 1 || stage.instances.length === 1)) {
      instance.isTaken = true;
      return work(instance).finally(() => (instance.isTaken = false));
    }
    await sleep(100, undefined, { signal });
  }
}

/** One that died by itself counts as a crash; the campaign goes on with it, as an orchestrator would. */
async function reviveDead(instances: readonly Instance[]): Promise<void> {
  for (const instance of instances) {
    if (instance.isTaken || instance.isRunning) continue;
    instance.isTaken = true;
    await instance.start().finally(() => (instance.isTaken = false));
  }
}

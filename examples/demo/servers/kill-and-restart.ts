import { setTimeout as sleep } from 'node:timers/promises';
import { type ServiceProcess } from '../../../test/support/servers/service-process';

const DEAD_MS = 1_000;

/** Kills the service in the middle of its work (-9), and starts it again a second later. */
export async function killAndRestart(
  service: ServiceProcess,
  afterMs: number,
  signal: AbortSignal,
  say: (note: string) => void,
): Promise<void> {
  await sleep(afterMs, undefined, { signal });
  await service.kill();
  say('the service was killed (-9)');
  await sleep(DEAD_MS, undefined, { signal });
  await service.start();
  say('the service runs again');
}

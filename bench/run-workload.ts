import { type Contestant, type Sample, type Workload } from './contestant';
import { type WorkloadResult } from './report/workload-result';
import { openRing, type RingSetting } from './servers/open-ring';
import { type BenchServers } from './servers/open-servers';

/** No run takes longer, whatever hangs. */
const RUN_LIMIT_MS = 15 * 60_000;

/** All rounds of one workload: in each the contestants take turns, so that a slow minute of the machine hits all. */
export async function runWorkload(
  workload: Workload,
  rounds: number,
  servers: BenchServers,
  setting: RingSetting,
): Promise<WorkloadResult> {
  const samples = new Map<Contestant, Sample[]>(workload.contestants.map((contestant) => [contestant, []]));
  const failures: string[] = [];
  for (let round = 1; round <= Math.min(rounds, workload.maxRounds ?? rounds); round += 1) {
    for (const [contestant, taken] of samples) {
      setting.signal.throwIfAborted();
      try {
        const sample = await runOnce(contestant, servers, setting);
        taken.push(sample);
        setting.say(`${workload.id} round ${round} ${contestant.name}: ${words(sample)}`);
      } catch (error) {
        setting.signal.throwIfAborted();
        failures.push(`${contestant.name}, round ${round}: ${error instanceof Error ? error.message : String(error)}`);
        setting.say(`${workload.id} round ${round} ${contestant.name} FAILED: ${String(error)}`);
        if (error instanceof Error && error.stack) setting.say(error.stack);
      }
    }
  }
  return { workload, samples, failures };
}

async function runOnce(contestant: Contestant, servers: BenchServers, setting: RingSetting): Promise<Sample> {
  const signal = AbortSignal.any([setting.signal, AbortSignal.timeout(RUN_LIMIT_MS)]);
  const ring = await openRing(servers, contestant, { ...setting, signal });
  try {
    return await Promise.race([contestant.run(ring), rejectedBy(signal)]);
  } finally {
    await ring.close();
  }
}

/** Not everything that a run waits for knows of the signal. */
function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(new Error('the run was ended', { cause: signal.reason }));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

function words(sample: Sample): string {
  return Object.entries(sample)
    .map(([key, value]) => `${key} ${Number(value.toPrecision(5))}`)
    .join(', ');
}

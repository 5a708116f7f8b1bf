import { setTimeout as sleep } from 'node:timers/promises';
import { type Random } from '../../../support/buyers/random';
import { CRASH_POINTS } from '../build/crash-points';
import { type Instance } from '../stage/instance';
import { type Fault, type Scene } from './fault';
import { withInstance } from './with-instance';

/** How long an armed instance may take to come to its point; some are passed rarely. */
const ARMED_MS = 4_000;
const CRASHED_MIN_MS = 100;
const CRASHED_MAX_MS = 2_500;
/** The lease is 20 s. */
const BEYOND_LEASE_MIN_MS = 21_000;
const BEYOND_LEASE_MAX_MS = 25_000;
/** More than the runs that an instance has side by side. */
const MOST_HANGING = 12;
/** Runs that begin within this time hang. */
const HANG_WITHIN_MS = 3_000;
/** Until then they keep their lane: `runTimeoutMs` of the product's own kinds. */
const HANG_FOR_MS = 10_000;

/** kill -9 at no moment in particular. */
export const killInstance: Fault = (scene, random, entry) =>
  withInstance(scene, random, async (instance) => {
    entry.says = `instance ${instance.number}`;
    await instance.kill();
    await restart(instance, random, scene.signal);
  });

/** kill -9 between two steps; when the point is not passed in time, wherever it is. */
export const crashAtPoint: Fault = (scene, random, entry) =>
  withInstance(scene, random, async (instance) => {
    const point = CRASH_POINTS[random.between(0, CRASH_POINTS.length - 1)] ?? 'between-commit-and-ack';
    instance.arm(point, random.between(0, 3));
    const isGone = await instance.whenGone(ARMED_MS);
    entry.says = `instance ${instance.number} ${point}${isGone ? '' : ' (not passed)'}`;
    if (!isGone) await instance.kill();
    await restart(instance, random, scene.signal);
  });

export const freezeShortly: Fault = (scene, random, entry) => freeze(scene, random, entry, 1_000, 6_000);

export const freezeBeyondLease: Fault = (scene, random, entry) =>
  freeze(scene, random, entry, BEYOND_LEASE_MIN_MS, BEYOND_LEASE_MAX_MS);

/** The broker closes its connections meanwhile, and the database what it left open in a transaction. */
export const freezeForLong: Fault = (scene, random, entry) => freeze(scene, random, entry, 61_000, 65_000);

/** A wrong wall clock in one process for a while: minutes or hours, back or forth. */
export const jumpClock: Fault = async ({ stage, signal }, random, entry) => {
  const instance = stage.instances[random.between(0, stage.instances.length - 1)];
  const sizes = [2_000, 60_000, 600_000, 7_200_000, 86_400_000];
  const ms = (sizes[random.between(0, sizes.length - 1)] ?? 0) * (random.next() < 0.5 ? 1 : -1);
  entry.says = `instance ${instance?.number} by ${ms} ms`;
  instance?.jumpClock(ms);
  await sleep(random.between(500, 4_000), undefined, { signal });
  instance?.jumpClock(0);
};

/** A channel of one process is closed by the broker with 404. */
export const breakChannel: Fault = async ({ stage }, random, entry) => {
  const instance = stage.instances[random.between(0, stage.instances.length - 1)];
  const which = random.between(0, 1_000);
  entry.says = `instance ${instance?.number}, channel ${which}`;
  instance?.breakChannel(which);
};

/** Runs of a handler that never end, inside their transactions; the service has to notice, as nobody ends them. */
export const hangHandlers: Fault = async ({ stage, signal }, random, entry) => {
  const instance = stage.instances[random.between(0, stage.instances.length - 1)];
  const runs = random.between(1, MOST_HANGING);
  entry.says = `instance ${instance?.number}, ${runs} runs`;
  instance?.hangHandlers(runs);
  await sleep(HANG_WITHIN_MS, undefined, { signal });
  instance?.hangHandlers(0);
  await sleep(HANG_FOR_MS, undefined, { signal });
};

async function freeze(
  scene: Scene,
  random: Random,
  entry: { says: string },
  minMs: number,
  maxMs: number,
): Promise<void> {
  await withInstance(scene, random, async (instance) => {
    const ms = random.between(minMs, maxMs);
    entry.says = `instance ${instance.number} for ${ms} ms`;
    instance.freeze();
    await sleep(ms, undefined, { signal: scene.signal }).finally(() => instance.thaw());
  });
}

async function restart(instance: Instance, random: Random, signal: AbortSignal): Promise<void> {
  await sleep(random.between(CRASHED_MIN_MS, CRASHED_MAX_MS), undefined, { signal });
  await instance.start();
}

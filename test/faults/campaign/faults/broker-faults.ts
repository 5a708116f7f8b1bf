import { setTimeout as sleep } from 'node:timers/promises';
import { type Random } from '../../../support/buyers/random';
import { WAKE_UP_KINDS, workQueue } from '../stage/broker-names';
import { LADDER, ladderQueues } from '../stage/ladder-names';
import { SERVICE_LOGIN } from '../stage/service-login';
import { type Fault, type Scene } from './fault';
import { onChannel } from './on-channel';

export const killBroker: Fault = async ({ stage, signal }, random) => {
  await stage.broker.kill();
  await sleep(random.between(0, 2_000), undefined, { signal });
  await stage.broker.start();
};

export const restartBroker: Fault = async ({ stage }) => {
  await stage.broker.stop();
  await stage.broker.start();
};

/** An operator purges what waits: the work queues, or those of the ladder. */
export const purgeQueues: Fault = (scene, random, entry) =>
  onChannel(scene, async (channel) => {
    const { prefix } = scene.stage;
    const isLadder = random.next() < 0.5;
    const names = isLadder ? ladderQueues() : WAKE_UP_KINDS.map(workQueue);
    let purged = 0;
    for (const name of names) {
      if (await exists(scene, `${prefix}.${name}`)) {
        purged += (await channel.purgeQueue(`${prefix}.${name}`)).messageCount;
      }
    }
    entry.says = `${purged} messages of ${isLadder ? 'the ladder' : 'the work queues'}`;
  });

/** The broker cancels every consumer of the queue. */
export const deleteWorkQueue: Fault = (scene, random, entry) =>
  onChannel(scene, async (channel) => {
    const name = `${scene.stage.prefix}.${workQueue(WAKE_UP_KINDS[random.between(0, 1)] ?? WAKE_UP_KINDS[0])}`;
    entry.says = name;
    await channel.deleteQueue(name);
  });

/** What delays is gone, messages that wait at it included; the service declares it again when it notices. */
export const deleteDelayExchange: Fault = (scene, random, entry) =>
  onChannel(scene, async (channel) => {
    const names = ['delayed', `${LADDER}.0`, `${LADDER}.1`, `${LADDER}.delivery`];
    const found: string[] = [];
    for (const name of names) {
      if (await exchangeExists(scene, `${scene.stage.prefix}.${name}`)) found.push(name);
    }
    const chosen = found[random.between(0, found.length - 1)];
    entry.says = chosen ?? 'there was none';
    if (chosen !== undefined) await channel.deleteExchange(`${scene.stage.prefix}.${chosen}`);
  });

/** Publishers are blocked: the broker reads nothing from them. */
export const raiseDiskAlarm: Fault = (scene, random) =>
  alarm(scene, random, { raise: (broker) => broker.fillDisk(), clear: (broker) => broker.freeDisk() });

export const raiseMemoryAlarm: Fault = (scene, random) =>
  alarm(scene, random, { raise: (broker) => broker.fillMemory(), clear: (broker) => broker.freeMemory() });

/** The broker closes each channel that does something, with 403. */
export const revokePermissions: Fault = async ({ stage, signal }, random, entry) => {
  const ms = random.between(2_000, 15_000);
  entry.says = `for ${ms} ms`;
  await stage.broker.permit(SERVICE_LOGIN.username, '');
  await sleep(ms, undefined, { signal }).finally(() => stage.broker.permit(SERVICE_LOGIN.username, '.*'));
};

type OnBroker = (broker: Scene['stage']['broker']) => Promise<void>;

async function alarm(
  { stage: { broker }, signal }: Scene,
  random: Random,
  { raise, clear }: { readonly raise: OnBroker; readonly clear: OnBroker },
): Promise<void> {
  await raise(broker);
  await sleep(random.between(1_000, 6_000), undefined, { signal }).finally(() => clear(broker));
}

async function exists(scene: Scene, queue: string): Promise<boolean> {
  let isThere = false;
  await onChannel(scene, async (channel) => {
    await channel.checkQueue(queue);
    isThere = true;
  });
  return isThere;
}

async function exchangeExists(scene: Scene, exchange: string): Promise<boolean> {
  let isThere = false;
  await onChannel(scene, async (channel) => {
    await channel.checkExchange(exchange);
    isThere = true;
  });
  return isThere;
}

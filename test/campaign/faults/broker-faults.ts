import { setTimeout as sleep } from 'node:timers/promises';
import { type Channel } from 'amqplib';
import { type Fault, type Scene } from './fault';

const KINDS = ['order.payment', 'order.late-watch'] as const;
/** Of the measures in service-environment.ts, see src/delay/ladder-names.ts. */
const LADDER = 'delay-b16-u1000';
const LADDER_LEVELS = 2;
const LADDER_VALUES = 15;

export const killBroker: Fault = async ({ stage, signal }, random) => {
  await stage.brokerServer.kill();
  await sleep(random.between(0, 2_000), undefined, { signal });
  await stage.brokerServer.start();
};

export const restartBroker: Fault = async ({ stage }) => {
  await stage.brokerServer.stop();
  await stage.brokerServer.start();
};

/** An operator purges what waits: the work queues, or those of the ladder. */
export const purgeQueues: Fault = (scene, random, entry) =>
  onChannel(scene, async (channel) => {
    const { prefix } = scene.stage;
    const isLadder = random.next() < 0.5;
    const names = isLadder ? ladderQueues() : KINDS.map((kind) => `work.${kind}`);
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
    const names = [`${scene.stage.prefix}.work.order.payment`, `${scene.stage.prefix}.work.order.late-watch`];
    const name = names[random.between(0, 1)] ?? '';
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
export const raiseDiskAlarm: Fault = async ({ stage, signal }, random) => {
  await stage.brokerControl.fillDisk();
  try {
    await sleep(random.between(1_000, 6_000), undefined, { signal });
  } finally {
    await stage.brokerControl.freeDisk();
  }
};

function ladderQueues(): string[] {
  const values = Array.from({ length: LADDER_VALUES }, (_, index) => String(index + 1).padStart(2, '0'));
  return Array.from({ length: LADDER_LEVELS }, (_, level) =>
    values.map((value) => `${LADDER}.${level}.${value}`),
  ).flat();
}

/** On a channel of its own, as a refusal closes it. Without a broker there is nothing to be done. */
async function onChannel({ link }: Scene, work: (channel: Channel) => Promise<void>): Promise<void> {
  const channel = await link.channelModel?.createChannel().catch(() => undefined);
  if (!channel) return;
  channel.on('error', () => undefined);
  await work(channel).catch(() => undefined);
  await channel.close().catch(() => undefined);
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

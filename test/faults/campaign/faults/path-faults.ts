import { setTimeout as sleep } from 'node:timers/promises';
import { type Random } from '../../../support/buyers/random';
import { WAKE_UP_KINDS, workQueue } from '../stage/broker-names';
import { LADDER, ladderQueues } from '../stage/ladder-names';
import { type Stage } from '../stage/open-stage';
import { SERVICE_LOGIN } from '../stage/service-login';
import { type Fault, type Scene } from './fault';
import { onChannel } from './on-channel';

/** The sweep has to find twice that wake-ups are missing; from then on it looks ahead, as without a broker. */
const NOTICE_MS = 45_000;
/** What falls due after that shows whether it did. */
const DROPS_MIN_MS = 60_000;
const DROPS_MAX_MS = 70_000;
/** Queues of the ladder are used by publishers alone, which does not count as use. */
const EXPIRE_MS = 1_000;
/** Deadlines are seconds away. */
const HASTY_MS = 200;
const LOOK_MS = 200;
const PATIENCE_MS = 60_000;
/** A quorum queue of 3.10 whose broker is killed just after declaring it may stay without a leader for good. */
const DECLARED_MS = 5_000;

/** One queue's process answers nobody, or is gone, while the broker is up: of wake-ups that wait, or of those that are due. */
export const suspendQueue: Fault = async ({ stage, signal }, random, entry) => {
  const names = stage.transport === 'ladder' && random.next() < 0.5 ? ladderQueues() : WAKE_UP_KINDS.map(workQueue);
  const name = `${stage.prefix}.${names[random.between(0, names.length - 1)]}`;
  const ms = random.between(3_000, 20_000);
  const { broker } = stage;
  // Only a quorum queue outlives its process.
  const isStopped = random.next() < 0.5 && (await broker.stopQueue(name));
  const isThere = isStopped || (await broker.suspendQueue(name));
  entry.says = isThere ? `${name} ${isStopped ? 'ended' : 'suspended'} for ${ms} ms` : `${name} is not there`;
  if (!isThere) return;
  const start = async (): Promise<void> => {
    if (!(await broker.startQueue(name))) await broker.deleteQueue(name);
  };
  await sleep(ms, undefined, { signal }).finally(() => (isStopped ? start() : broker.resumeQueue(name)));
};

/** Wake-ups vanish while the broker, the connection and every queue with a consumer are fine. */
export const dropWakeUps: Fault = async (scene, random, entry) => {
  const { stage, signal } = scene;
  const ms = random.between(DROPS_MIN_MS, DROPS_MAX_MS);
  const way = chooseWay(stage, random);
  entry.says = `${way.says} for ${ms} ms`;
  await way.open(scene);
  entry.endedAt = Date.now() + NOTICE_MS;
  try {
    await sleep(ms, undefined, { signal });
  } finally {
    await way.mend(scene);
    // Whoever connects anew declares what is missing.
    stage.ways.broker.cut();
  }
};

/** A policy of an operator for all queues lets wake-ups leave the ladder before their time. */
export const hastenWakeUps: Fault = async ({ stage, signal }, random, entry) => {
  const [rule, value] = random.next() < 0.5 ? (['message-ttl', HASTY_MS] as const) : (['max-length', 3] as const);
  const ms = random.between(5_000, 20_000);
  entry.says = `${rule} ${value} for ${ms} ms`;
  await stage.broker.setPolicy(`^${stage.prefix}[.]delay`, rule, value);
  await sleep(ms, undefined, { signal }).finally(() => stage.broker.dropPolicy(rule));
};

/**
 * Another broker answers at the same address, or its virtual host was made anew, and it has never heard of us. What others had
 * in it they have fetched before.
 */
export const replaceBroker: Fault = async (scene, random, entry) => {
  const { stage, link } = scene;
  const isSame = random.next() < 0.5;
  entry.says = isSame ? 'a new virtual host' : 'a new broker';
  const release = link.holdCommands();
  try {
    await untilFetched(scene, 'commands');
    // No more confirms for events that the subscriber would not get.
    stage.ways.broker.swallow();
    await untilFetched(scene, 'campaign-subscriber');
    if (isSame) await stage.broker.replaceVhost([new URL(stage.amqpUrl).username, SERVICE_LOGIN.username]);
    else await startEmpty(stage);
  } finally {
    stage.ways.broker.cut();
    stage.ways.broker.restore();
    release();
  }
  await sleep(DECLARED_MS, undefined, { signal: scene.signal });
};

async function startEmpty({ broker }: Stage): Promise<void> {
  await broker.kill();
  broker.wipe();
  await broker.start();
  await broker.addUser(SERVICE_LOGIN);
}

/** The delayed exchange says that it is there, and every publish to it ends the connection with 541. */
export const failPublishes: Fault = async ({ stage, signal }, random, entry) => {
  const ms = random.between(5_000, 20_000);
  entry.says = `for ${ms} ms`;
  await stage.broker.failPublishes(true);
  await sleep(ms, undefined, { signal }).finally(() => stage.broker.failPublishes(false));
};

interface Way {
  readonly says: string;
  open(scene: Scene): Promise<void>;
  mend(scene: Scene): Promise<void>;
}

function chooseWay({ transport }: Stage, random: Random): Way {
  const ways = transport === 'ladder' ? [UNBOUND, UNDELIVERED, EXPIRED] : [UNBOUND];
  return ways[random.between(0, ways.length - 1)] ?? UNBOUND;
}

const nothing = (): Promise<void> => Promise.resolve();

const UNBOUND: Way = {
  says: 'the work queue of payments is bound to nothing',
  open: async (scene) => {
    const { prefix, transport, broker } = scene.stage;
    const exchange = `${prefix}.${transport === 'ladder' ? `${LADDER}.delivery` : 'delayed'}`;
    const queue = `${prefix}.${workQueue(WAKE_UP_KINDS[0])}`;
    const keys = await broker.bindingKeys(exchange, queue);
    await onChannel(scene, async (channel) => {
      for (const key of keys) await channel.unbindQueue(queue, exchange, key);
    });
  },
  mend: nothing,
};

const UNDELIVERED: Way = {
  says: 'the exchange where waits end is gone',
  open: (scene) =>
    onChannel(
      scene,
      async (channel) => void (await channel.deleteExchange(`${scene.stage.prefix}.${LADDER}.delivery`)),
    ),
  mend: nothing,
};

const EXPIRED: Way = {
  says: 'a policy lets the queues of the ladder expire',
  open: ({ stage }) => stage.broker.setPolicy(`^${stage.prefix}[.]delay`, 'expires', EXPIRE_MS),
  mend: ({ stage }) => stage.broker.dropPolicy('expires'),
};

/** Resolves when everything in the queue has been taken and settled. @throws when that takes too long: then it must not be lost. */
async function untilFetched({ stage, signal }: Scene, name: string): Promise<void> {
  let endsAt = performance.now() + PATIENCE_MS;
  for (let least = Infinity; ;) {
    const count = await stage.broker.messagesIn(`${stage.prefix}.${name}`);
    if (count === 0) return;
    // A busy machine takes longer, as long as they become fewer.
    if (count < least) endsAt = performance.now() + PATIENCE_MS;
    least = Math.min(least, count);
    if (performance.now() > endsAt) throw new Error(`${count} messages are still in ${name} after ${PATIENCE_MS} ms`);
    await sleep(LOOK_MS, undefined, { signal });
  }
}

import { type Channel, type ChannelModel, connect } from 'amqplib';
import { RunError } from '../../../test/support/run-error';

/** Everything that the service declares below a prefix; deleting what is not there is no error. */
const EXCHANGES = [
  'owner',
  'events',
  'commands',
  'parked',
  'work',
  'delayed',
  'delay.delivery',
  'delay.0',
  'delay.1',
  'delay.2',
];
const QUEUES = [
  'commands',
  'parked',
  'probe',
  'work.order.payment',
  'work.order.reminder',
  'work.order.late-watch',
  'work.payment.refund',
  'work.payment.reconciliation',
];
/** The default ladder: base 64, three levels for 24 h. */
const LADDER_LEVELS = 3;
const LADDER_VALUES = 63;
/** Channels that delete side by side: a quorum queue takes a while each. */
const CHANNELS = 8;

/** Connects to the first broker that answers. @throws RunError when none does. */
export async function connectBroker(urls: readonly string[]): Promise<ChannelModel> {
  let reason = 'RABBITMQ_URLS is empty';
  for (const url of urls) {
    try {
      return await connect(url, { timeout: 10_000, noDelay: true });
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  throw new RunError(`no broker of RABBITMQ_URLS can be reached (${reason}); is it up, and is the password right?`);
}

/** Deletes everything that a run has declared below its prefix. */
export async function clearBroker(urls: readonly string[], prefix: string): Promise<void> {
  const connection = await connectBroker(urls);
  try {
    const queues = [...QUEUES, ...ladderQueues()].map((name) => `${prefix}.${name}`);
    const channels = await Promise.all(Array.from({ length: CHANNELS }, () => connection.createChannel()));
    await Promise.all(channels.map((channel, index) => deleteShare(channel, queues, index)));
    const [channel] = channels;
    for (const name of EXCHANGES) await channel?.deleteExchange(`${prefix}.${name}`);
  } finally {
    await connection.close();
  }
}

async function deleteShare(channel: Channel, queues: readonly string[], index: number): Promise<void> {
  for (const queue of queues.filter((_, at) => at % CHANNELS === index)) await channel.deleteQueue(queue);
}

function ladderQueues(): string[] {
  const values = Array.from({ length: LADDER_VALUES }, (_, index) => String(index + 1).padStart(2, '0'));
  return Array.from({ length: LADDER_LEVELS }, (_, level) => values.map((value) => `delay.${level}.${value}`)).flat();
}

import { type Channel, type ChannelModel, type ConfirmChannel } from 'amqplib';
import { inTime, SystemClock } from '../clock';
import { type ExpectedExchange, type ExpectedQueue, type TopologyNames } from './topology';

export const ACCESS_REFUSED = 403;
export const NOT_FOUND = 404;
export const PRECONDITION_FAILED = 406;

const ANSWER_MS = 5_000;

/** A routing key of ours, because rights may depend on it. */
const TOPIC = 'order.closed';

/** A queue without a leader, a stuck broker, and one that blocks publishers do not answer. */
export class BrokerSilentError extends Error {
  constructor() {
    super(`the broker does not answer within ${ANSWER_MS / 1_000} s`);
  }
}

interface QueueFacts {
  /** Ready messages. */
  readonly messages: number;
  readonly consumers: number;
}

/**
 * Reads what a broker has, over AMQP alone. It declares only what exists already, so nothing changes: the broker
 * compares a declaration with the existing object.
 */
export class BrokerInspection {
  private readonly clock = new SystemClock();

  /** @param connection is left open. */
  constructor(private readonly connection: ChannelModel) {}

  /** For example `RabbitMQ 4.0.5`. */
  get product(): string {
    const { product = 'unknown broker', version = '' } = this.properties;
    return `${product} ${version}`.trim();
  }

  /** For example `4.0.5`; empty if the broker does not tell. */
  get version(): string {
    return this.properties.version ?? '';
  }

  /** Undefined: there is no such queue. @throws BrokerSilentError, as every other question does */
  queue(name: string): Promise<QueueFacts | undefined> {
    return this.ask(async (channel) => {
      const { messageCount, consumerCount } = await channel.checkQueue(name);
      return { messages: messageCount, consumers: consumerCount };
    }).catch((error: unknown) => refusalOf(error, NOT_FOUND, undefined));
  }

  hasExchange(name: string): Promise<boolean> {
    return this.inTime(hasExchange(this.connection, name));
  }

  /** How an existing queue differs from what is declared, in the broker's words. Undefined: it does not. */
  queueDifference({ name, arguments: wanted }: ExpectedQueue): Promise<string | undefined> {
    return this.difference((channel) => channel.assertQueue(name, { durable: true, arguments: wanted }));
  }

  /** The same for an existing exchange. */
  exchangeDifference({ name, type, alternateExchange }: ExpectedExchange): Promise<string | undefined> {
    const options = { durable: true, ...(alternateExchange === undefined ? {} : { alternateExchange }) };
    return this.difference((channel) => channel.assertExchange(name, type, options));
  }

  /** Why our user may not consume the queue, in the broker's words. RabbitMQ refuses the priority after it looked at the rights. */
  consumeRefusal(name: string): Promise<string | undefined> {
    return this.refusal((channel) => channel.consume(name, () => undefined, { arguments: { 'x-priority': 'none' } }));
  }

  /**
   * The same for publishing: RabbitMQ refuses the expiration after it looked at the rights. Use a connection for it alone:
   * under an alarm, the broker reads nothing else of this one.
   */
  publishRefusal(exchange: string): Promise<string | undefined> {
    return this.refusal(
      (channel) =>
        new Promise((_, reject) => {
          channel.once('error', reject);
          channel.publish(exchange, TOPIC, Buffer.alloc(0), { expiration: 'never' });
        }),
    );
  }

  private refusal(work: (channel: Channel) => Promise<unknown>): Promise<string | undefined> {
    return this.ask(work).then(
      () => undefined,
      (error: unknown) => {
        const { code } = error as { readonly code?: unknown };
        if (code === NOT_FOUND || code === PRECONDITION_FAILED) return undefined;
        return refusalOf(error, ACCESS_REFUSED, sentenceOf(error));
      },
    );
  }

  private difference(declare: (channel: Channel) => Promise<unknown>): Promise<string | undefined> {
    return this.ask(declare).then(
      () => undefined,
      (error: unknown) => refusalOf(error, PRECONDITION_FAILED, sentenceOf(error)),
    );
  }

  private ask<T>(work: (channel: Channel) => Promise<T>): Promise<T> {
    return this.inTime(onChannel(this.connection, work));
  }

  private inTime<T>(answer: Promise<T>): Promise<T> {
    return inTime(this.clock, ANSWER_MS, answer, () => new BrokerSilentError());
  }

  private get properties(): { readonly product?: string; readonly version?: string } {
    return (this.connection.connection as { serverProperties?: object }).serverProperties ?? {};
  }
}

/** Whether the broker has an exchange of this name. Does not end if the connection does. */
export function hasExchange(model: ChannelModel, name: string): Promise<boolean> {
  return onChannel(model, (channel) => channel.checkExchange(name)).then(
    () => true,
    (error: unknown) => refusalOf(error, NOT_FOUND, false),
  );
}

/** The broker's sentence in amqplib's message, such as `inequivalent arg 'x-overflow' for queue …`. */
function sentenceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /(?:PRECONDITION_FAILED|ACCESS_REFUSED) - ([^"]*)/.exec(message)?.[1] ?? message;
}

/** The owner of the prefix. `nobody`: the broker is new, was emptied, or does not know the prefix. */
export type PrefixOwner =
  { readonly type: 'us' } | { readonly type: 'nobody' } | { readonly type: 'other'; readonly databaseId: string };

/**
 * Uses a durable exchange that nobody publishes to, whose alternate exchange names the owner of the prefix. It exists
 * as long as the broker keeps its data, and a declaration for another database is refused (RabbitMQ compares this
 * argument of an exchange only). So it reveals an emptied broker, and a second service with the same prefix.
 */
export async function readPrefixOwner(
  connection: ChannelModel,
  names: TopologyNames,
  databaseId: string,
): Promise<PrefixOwner> {
  if (!(await hasExchange(connection, names.owner))) return { type: 'nobody' };
  const isOurs = await onChannel(connection, (channel) => declareOwner(channel, names, databaseId)).then(
    () => true,
    (error: unknown) => refusalOf(error, PRECONDITION_FAILED, false),
  );
  return isOurs ? { type: 'us' } : { type: 'other', databaseId: await readOwner(connection, names) };
}

/** Claims the prefix, regardless of its current owner. */
export async function takePrefix(connection: ChannelModel, names: TopologyNames, databaseId: string): Promise<void> {
  await onChannel(connection, async (channel) => {
    await channel.deleteExchange(names.owner);
    await declareOwner(channel, names, databaseId);
  });
}

async function declareOwner(channel: Channel, names: TopologyNames, databaseId: string): Promise<void> {
  const alternateExchange = `${names.owner}.${databaseId}`;
  await channel.assertExchange(names.owner, 'fanout', { durable: true, internal: true, alternateExchange });
}

/**
 * Reads the owner from the refusal of a declaration without the argument, `… received none but current is the value
 * 'p.owner.<id>' …`. A refusal has at most 255 characters, too few for two owners.
 */
async function readOwner(connection: ChannelModel, names: TopologyNames): Promise<string> {
  const options = { durable: true, internal: true };
  const message = await onChannel(connection, (channel) => channel.assertExchange(names.owner, 'fanout', options)).then(
    () => '',
    (error: unknown) => refusalOf(error, PRECONDITION_FAILED, String(error)),
  );
  const [, current = ''] = /current is (?:the value )?'([^']*)/.exec(message) ?? [];
  return current.startsWith(`${names.owner}.`) ? current.slice(names.owner.length + 1) : 'unknown';
}

/** Runs `work` on a channel of its own, because a refusal closes the channel. */
export async function onChannel<T>(connection: ChannelModel, work: (channel: Channel) => Promise<T>): Promise<T> {
  const channel = await connection.createChannel();
  channel.on('error', () => undefined);
  const result = await work(channel);
  await channel.close();
  return result;
}

/** The same on a channel whose publications are confirmed. */
export async function onConfirmChannel<T>(
  connection: ChannelModel,
  work: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> {
  const channel = await connection.createConfirmChannel();
  channel.on('error', () => undefined);
  const result = await work(channel);
  await channel.close();
  return result;
}

/** Returns `meaning` for a refusal with `code`. Other errors are thrown. */
function refusalOf<T>(error: unknown, code: number, meaning: T): T {
  if (error instanceof Error && 'code' in error && error.code === code) return meaning;
  throw error;
}

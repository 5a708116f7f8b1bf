import { type ChannelModel } from 'amqplib';
import { type ExpectedExchange, type ExpectedQueue } from './expected-topology';
import { onChannel, refusalOf } from './on-channel';

const NOT_FOUND = 404;
const PRECONDITION_FAILED = 406;

/** What a passive declaration tells of a queue. */
export interface QueueFacts {
  /** Ready messages. */
  readonly messages: number;
  readonly consumers: number;
}

/**
 * Reads what a broker has, over AMQP alone. It declares only what exists already, so nothing changes: the broker
 * compares a declaration with the existing object.
 */
export class BrokerInspection {
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

  /** Undefined: there is no such queue. */
  queue(name: string): Promise<QueueFacts | undefined> {
    return onChannel(this.connection, async (channel) => {
      const { messageCount, consumerCount } = await channel.checkQueue(name);
      return { messages: messageCount, consumers: consumerCount };
    }).catch((error: unknown) => refusalOf(error, NOT_FOUND, undefined));
  }

  hasExchange(name: string): Promise<boolean> {
    return onChannel(this.connection, (channel) => channel.checkExchange(name)).then(
      () => true,
      (error: unknown) => refusalOf(error, NOT_FOUND, false),
    );
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

  private difference(declare: Parameters<typeof onChannel>[1]): Promise<string | undefined> {
    return onChannel(this.connection, declare).then(
      () => undefined,
      (error: unknown) => refusalOf(error, PRECONDITION_FAILED, sentenceOf(error)),
    );
  }

  private get properties(): { readonly product?: string; readonly version?: string } {
    return (this.connection.connection as { serverProperties?: object }).serverProperties ?? {};
  }
}

/** The broker's sentence in amqplib's message, such as `inequivalent arg 'x-overflow' for queue …`. */
function sentenceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /PRECONDITION_FAILED - ([^"]*)/.exec(message)?.[1] ?? message;
}

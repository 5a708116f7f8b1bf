import { z } from 'zod';
import { integer, oneOf, optionsOf, parseOptions } from '../errors';

/** `quorum` survives the loss of a node and a kill -9. `classic` (durable) is enough for a single node. */
export type QueueType = 'quorum' | 'classic';

/** How to reach RabbitMQ. */
export interface RabbitOptions {
  /** `amqp://` or `amqps://` URLs of one cluster, tried in turn. */
  readonly urls: readonly string[];
  /** Prefix of every exchange and queue name. @default 'order-timeout.v1' */
  readonly prefix?: string;
  /**
   * Beginnings of the names of queues that may get answers to commands, besides direct reply-to and queues named by the
   * broker. @default []
   */
  readonly replyPrefixes?: readonly string[];
  /** `quorum` survives the loss of a node. `classic` is enough for a single node. @default 'quorum' */
  readonly queueType?: QueueType;
  /** The most unconfirmed publications at once. More only costs memory (measured: no gain above 500). @default 500 */
  readonly publishWindow?: number;
  /** How long to wait for a confirm before the outcome counts as unknown, milliseconds; at most 25 s. @default 15000 */
  readonly confirmTimeoutMs?: number;
  /** How often broker and client tell each other that they live, in seconds. @default 10 */
  readonly heartbeatSeconds?: number;
  /** Shown in the broker's list of connections. @default 'nestjs-order-timeout' */
  readonly connectionName?: string;
}

/** Prefix of every name on the broker, unless it is configured. */
export const DEFAULT_PREFIX = 'order-timeout.v1';

const PREFIX = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

export type ResolvedRabbitOptions = Required<RabbitOptions>;

export const QUEUE_TYPES = ['quorum', 'classic'] as const satisfies readonly QueueType[];

/** The message must not contain the URL, which holds the password. */
const AMQP_URL = 'must be an amqp:// or amqps:// URL';

const amqpUrl = z.string(AMQP_URL).refine((url) => /^amqps?:\/\//i.test(url) && URL.canParse(url), AMQP_URL);

/** Without URLs, there is no broker. */
export const rabbitOptions = optionsOf({
  urls: z.array(amqpUrl, 'must be a list of amqp:// or amqps:// URLs'),
  prefix: z
    .string('must be a text')
    .regex(PREFIX, 'must be 1 to 100 letters, digits, ".", "_", or "-", and begin with a letter or a digit')
    .default(DEFAULT_PREFIX),
  replyPrefixes: z.array(z.string('must be a text').min(1, 'must not be empty'), 'must be a list of texts').default([]),
  queueType: oneOf(QUEUE_TYPES).default('quorum'),
  publishWindow: integer(1, 10_000).default(500),
  // The relay's lease is 15 s longer: the rows of a killed instance wait that long for another one.
  confirmTimeoutMs: integer(100, 25_000, ' milliseconds').default(15_000),
  heartbeatSeconds: integer(1, 3_600, ' seconds').default(10),
  connectionName: z.string('must be a text').default('nestjs-order-timeout'),
} satisfies Record<keyof RabbitOptions, z.ZodType>);

export function resolveRabbitOptions(options: RabbitOptions): ResolvedRabbitOptions {
  return Object.freeze(parseOptions('rabbit', rabbitOptions, options));
}

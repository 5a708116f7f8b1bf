import { findRangeProblems, findUnknownOptions, withoutUndefined } from '../errors';

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

const DEFAULTS: Omit<ResolvedRabbitOptions, 'urls'> = {
  prefix: DEFAULT_PREFIX,
  replyPrefixes: [],
  queueType: 'quorum',
  publishWindow: 500,
  confirmTimeoutMs: 15_000,
  heartbeatSeconds: 10,
  connectionName: 'nestjs-order-timeout',
};

export function resolveRabbitOptions(options: RabbitOptions): ResolvedRabbitOptions {
  return Object.freeze({ ...DEFAULTS, ...withoutUndefined(options) });
}

/** Finds everything that is wrong with the options. Never repeats URLs, because they contain passwords. */
export function findRabbitProblems(options: ResolvedRabbitOptions): string[] {
  const { urls, prefix, queueType, replyPrefixes } = options;
  const badUrls = urls.filter((url) => !/^amqps?:\/\//.test(url)).length;
  const ranges = [
    ['publishWindow', 1, 10_000],
    // The relay's lease is 15 s longer: the rows of a killed instance wait that long for another one.
    ['confirmTimeoutMs', 100, 25_000],
    ['heartbeatSeconds', 1, 3_600],
  ] as const;
  return [
    ...findUnknownOptions(options, ['urls', ...Object.keys(DEFAULTS)], 'rabbit.'),
    ...(urls.length === 0 ? ['rabbit.urls must name at least one amqp:// or amqps:// URL'] : []),
    ...(badUrls > 0 ? [`${badUrls} of rabbit.urls do not start with amqp:// or amqps://`] : []),
    ...(PREFIX.test(prefix) ? [] : ['rabbit.prefix must consist of letters, digits, ".", "_", and "-"']),
    ...(Array.isArray(replyPrefixes) && replyPrefixes.every((one) => typeof one === 'string' && one !== '')
      ? []
      : ['rabbit.replyPrefixes must be a list of texts that are not empty']),
    ...(['quorum', 'classic'].includes(queueType) ? [] : ['rabbit.queueType must be "quorum" or "classic"']),
    ...ranges.flatMap(([name, ...range]) => findRangeProblems(`rabbit.${name}`, options[name], range)),
  ];
}

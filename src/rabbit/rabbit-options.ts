/** `quorum` survives the loss of a node and a kill -9; `classic` (durable) is enough for a single node. */
export type QueueType = 'quorum' | 'classic';

/** How to reach RabbitMQ. */
export interface RabbitOptions {
  /** `amqp://` or `amqps://` URLs of one cluster, tried in turn. */
  readonly urls: readonly string[];
  /** Start of every exchange and queue name. @default 'order-timeout.v1' */
  readonly prefix?: string;
  /** @default 'quorum' */
  readonly queueType?: QueueType;
  /** Unconfirmed publications at once; more only costs memory (measured: no gain above 500). @default 500 */
  readonly publishWindow?: number;
  /** How long to wait for a confirm before the outcome counts as unknown, milliseconds. @default 15000 */
  readonly confirmTimeoutMs?: number;
  /** @default 10 */
  readonly heartbeatSeconds?: number;
  /** Shown in the broker's list of connections. @default 'nestjs-order-timeout' */
  readonly connectionName?: string;
}

export type ResolvedRabbitOptions = Required<RabbitOptions>;

export function resolveRabbitOptions(options: RabbitOptions): ResolvedRabbitOptions {
  return Object.freeze({
    prefix: 'order-timeout.v1',
    queueType: 'quorum',
    publishWindow: 500,
    confirmTimeoutMs: 15_000,
    heartbeatSeconds: 10,
    connectionName: 'nestjs-order-timeout',
    ...options,
  });
}

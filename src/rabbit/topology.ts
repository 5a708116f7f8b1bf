import { unescape } from 'node:querystring';
import { type QueueType } from './rabbit-options';

/**
 * Names of everything that the service declares on the broker. The prefix contains a version, because the arguments of
 * an existing queue or exchange cannot be changed (406 PRECONDITION_FAILED).
 */
export class TopologyNames {
  constructor(readonly prefix: string) {}

  /** Topic exchange of outgoing events. The routing key is the event name. */
  get events(): string {
    return `${this.prefix}.events`;
  }

  /** Topic exchange for incoming commands, and the queue behind it. */
  get commands(): string {
    return `${this.prefix}.commands`;
  }

  /** Fanout exchange and queue of messages that could not be processed. */
  get parked(): string {
    return `${this.prefix}.parked`;
  }

  /** Direct exchange to the work queues. The routing key is the timeout kind. */
  get work(): string {
    return `${this.prefix}.work`;
  }

  workQueue(kind: string): string {
    return `${this.prefix}.work.${kind}`;
  }

  /** Exchange that carries no messages. It records which database the prefix belongs to. */
  get owner(): string {
    return `${this.prefix}.owner`;
  }

  /** The plugin's exchange. */
  get delayed(): string {
    return `${this.prefix}.delayed`;
  }

  /** Prefix of the ladder's exchange and queue names. */
  get delay(): string {
    return `${this.prefix}.delay`;
  }
}

/**
 * Explicit, because the default is none up to 3.13 and 20 from 4.0 on. It is for messages that kill their consumer; an
 * outage costs one delivery only (see KeptDeliveries).
 */
export const DELIVERY_LIMIT = 100;

/** Never reached. Not -1: "no limit" from 4.0 on, but 3.10 deletes the message that is put back for the first time. */
export const NO_DELIVERY_LIMIT = 1_000_000_000;

/** Arguments of the parked queue. It keeps its messages, however often an operator gets and requeues them. */
export function parkedQueueArguments(queueType: QueueType): Record<string, unknown> {
  const limit = queueType === 'quorum' ? { 'x-delivery-limit': NO_DELIVERY_LIMIT } : {};
  return { 'x-queue-type': queueType, ...limit };
}

/** Arguments of a work queue. Messages that cannot be processed are dead-lettered to the parked queue. */
export function workQueueArguments(queueType: QueueType, names: TopologyNames): Record<string, unknown> {
  const deadLetter = { 'x-dead-letter-exchange': names.parked };
  if (queueType === 'classic') return { 'x-queue-type': 'classic', ...deadLetter };
  return {
    'x-queue-type': 'quorum',
    'x-delivery-limit': DELIVERY_LIMIT,
    // Both are required, or dead-lettering silently falls back to at-most-once.
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
    ...deadLetter,
  };
}

export interface ExpectedExchange {
  readonly name: string;
  readonly type: 'fanout' | 'direct' | 'topic';
  readonly alternateExchange?: string;
}

/** A durable queue as the service declares it. */
export interface ExpectedQueue {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What every instance declares, whatever the delay transport is: see `declareBase`. */
export function expectedTopology(
  names: TopologyNames,
  queueType: QueueType,
  kinds: readonly string[],
): { readonly exchanges: readonly ExpectedExchange[]; readonly queues: readonly ExpectedQueue[] } {
  const working = workQueueArguments(queueType, names);
  return {
    exchanges: [
      { name: names.parked, type: 'fanout' },
      { name: names.work, type: 'direct', alternateExchange: names.parked },
      { name: names.events, type: 'topic' },
      { name: names.commands, type: 'topic' },
    ],
    queues: [
      { name: names.parked, arguments: parkedQueueArguments(queueType) },
      { name: names.commands, arguments: working },
      ...kinds.map((kind) => ({ name: names.workQueue(kind), arguments: working })),
    ],
  };
}

type Prefixed = Pick<TopologyNames, 'prefix'>;

/** The permissions that a broker user of the service needs on its vhost, as regular expressions. */
export function servicePermissions({ prefix }: Prefixed): { configure: string; write: string; read: string } {
  const names = prefix.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const ours = `^${names}\\.`;
  // The default exchange takes the answers to commands.
  return { configure: ours, write: `^(amq\\.default$|${names}\\.)`, read: ours };
}

/** The vhost and the user of a URL, as the broker names them. Like amqplib, this takes a "%" that begins no escape as it is. */
export function loginOf(url: URL): { vhost: string; user: string } {
  return { vhost: unescape(url.pathname.slice(1)) || '/', user: unescape(url.username) || 'guest' };
}

/** The command that gives the user of the URL what the service needs, ready to be pasted into a shell. */
export function permitCommand(url: URL, prefixed: Prefixed): string {
  const { vhost, user } = loginOf(url);
  const { configure, write, read } = servicePermissions(prefixed);
  return `rabbitmqctl set_permissions -p ${[vhost, user, configure, write, read].map(quoted).join(' ')}`;
}

/** One word of a POSIX shell. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

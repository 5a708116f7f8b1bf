import { type Channel, type ChannelModel, type ConfirmChannel, type GetMessage } from 'amqplib';
import { Logger } from '@nestjs/common';
import { parseJson, withoutUndefined } from '../errors';
import { type Clock, SystemClock } from '../clock';
import { CommandQueueMissingError } from './errors';
import { onConfirmChannel } from './broker-inspection';
import { type TopologyNames } from './topology';
import { type ConfirmedPublisher } from './confirmed-publisher';
import { type Delivery, type ParkReason } from './consumer';
import { type Publication } from './publications';

export interface ParkedMessage {
  /** The `message_id`; empty if it has none. */
  readonly id: string;
  /** The command, or the kind of the timeout. */
  readonly routingKey: string;
  /** Why it is parked; null if the broker dead-lettered it by itself. */
  readonly code: string | null;
  readonly reason: string | null;
  /** What to do about it, as the end of a sentence. */
  readonly remedy: string;
  /** The body as text, at most the first 2,000 characters. */
  readonly body: string;
}

/** Ids of messages, as the list has them: the empty one stands for all messages without an id. */
export type ChosenMessages = readonly string[];

const BODY_CHARACTERS = 2_000;

/** What a command keeps of its properties. */
interface MessageProperties {
  readonly messageId?: string;
  readonly type?: string;
  readonly correlationId?: string;
  readonly replyTo?: string;
  readonly appId?: string;
}

/** What another reader gave back, such as the list before a retry, is in a quorum queue again only after a moment. */
const RETURN_WAITS = 20;
const RETURN_WAIT_MS = 100;

const clock: Clock = new SystemClock();

/** The marks of ParkedQueue. */
const OUR_MARK = /^x-ot-(error-|headers-dropped)/;

/** They are read one after the other and put back in the end, so a second reader at the same time misses some. */
export class ParkedMessages {
  constructor(
    private readonly connection: ChannelModel,
    private readonly names: TopologyNames,
  ) {}

  size(): Promise<number> {
    return onConfirmChannel(this.connection, (channel) => this.count(channel));
  }

  /** In the order of the queue. */
  list(limit: number): Promise<ParkedMessage[]> {
    const messages: ParkedMessage[] = [];
    return this.walk(0, limit, async (_, message) => {
      messages.push(read(message));
    }).then(() => messages);
  }

  /**
   * Sends commands to the service again, confirmed by the broker before they leave the queue. Wake-ups stay: their
   * timeouts are in the database, and the sweep finds them. Returns the number of commands sent.
   *
   * @throws CommandQueueMissingError
   */
  async retry(chosen: ChosenMessages): Promise<number> {
    const ids = new Set(chosen);
    let count = 0;
    await this.walk(ids.size, Infinity, async (channel, message) => {
      if (!ids.has(idOf(message)) || isWakeUp(message)) return;
      await this.send(channel, message);
      channel.ack(message);
      count++;
    });
    return count;
  }

  /** Deletes messages for good. Returns how many there were. */
  async discard(chosen: ChosenMessages): Promise<number> {
    const ids = new Set(chosen);
    let count = 0;
    await this.walk(ids.size, Infinity, async (channel, message) => {
      if (!ids.has(idOf(message))) return;
      channel.ack(message);
      count++;
    });
    return count;
  }

  private async send(channel: ConfirmChannel, { fields, properties, content }: GetMessage): Promise<void> {
    const headers = withoutTransportHeaders(properties.headers ?? {});
    const kept = Object.entries(headers).filter(([name]) => !OUR_MARK.test(name));
    const { messageId, type, correlationId, replyTo, appId } = properties as MessageProperties;
    const options = withoutUndefined({ messageId, type, correlationId, replyTo, appId });
    const sending = { persistent: true, mandatory: true, headers: Object.fromEntries(kept) };
    let isReturned = false;
    channel.once('return', () => (isReturned = true));
    channel.publish(this.names.commands, fields.routingKey, content, { ...options, ...sending });
    // The broker returns a message before it confirms it.
    await channel.waitForConfirms();
    channel.removeAllListeners('return');
    if (isReturned) throw new CommandQueueMissingError(this.names.commands);
  }

  /**
   * Takes each message once. What is not acknowledged returns to the queue when the channel closes.
   *
   * @param least how many there must be
   */
  private async walk(
    least: number,
    limit: number,
    visit: (channel: ConfirmChannel, message: GetMessage) => Promise<void>,
  ): Promise<void> {
    await onConfirmChannel(this.connection, async (channel) => {
      const most = Math.min(limit, await this.count(channel, least));
      for (let taken = 0; taken < most; taken++) {
        const message = await channel.get(this.names.parked);
        if (!message) break;
        await visit(channel, message);
      }
    });
  }

  /** What comes in meanwhile is left alone: a command that is refused again would be sent forever. */
  private async count(channel: Channel, least = 0): Promise<number> {
    for (let waits = RETURN_WAITS; ; waits--) {
      const { messageCount } = await channel.checkQueue(this.names.parked);
      if (messageCount >= least || waits === 0) return messageCount;
      await clock.sleep(RETURN_WAIT_MS);
    }
  }
}

function idOf({ properties }: GetMessage): string {
  return String(properties.messageId ?? '');
}

function read(message: GetMessage): ParkedMessage {
  const { fields, properties, content } = message;
  const text = (name: string): string | null => {
    const value: unknown = properties.headers?.[name];
    return typeof value === 'string' ? value : null;
  };
  const code = text('x-ot-error-code');
  return {
    id: idOf(message),
    routingKey: fields.routingKey,
    code,
    reason: text('x-ot-error-reason'),
    remedy: remedyOf(isWakeUp(message) ? 'INVALID_WAKE_UP' : (code ?? '')),
    body: content.toString('utf8').slice(0, BODY_CHARACTERS),
  };
}

/** By code; empty: the broker dead-lettered the message. */
const REMEDIES: Readonly<Record<string, string>> = {
  '': 'it was returned too often, or a policy moved it: remove the cause, and retry it; discard what is no command',
  INVALID_WAKE_UP: 'discard it: the sweep handles its timeout',
  INVALID_JSON: 'correct its sender, and discard it',
  UNREADABLE_HEADERS: 'retry it: it is sent without them',
  HANDLER_FAILED: 'find the error in the log, remove its cause, and retry it',
};

/** Pure: what becomes of most others depends on the state of their order, which may have changed. */
function remedyOf(code: string): string {
  return REMEDIES[code] ?? 'if the cause is gone, retry it; otherwise correct its sender, and discard it';
}

/** A wake-up has ids only; no command looks like this. */
function isWakeUp({ content }: GetMessage): boolean {
  const body = parseJson(content);
  return typeof body === 'object' && body !== null && 'kind' in body && 'key' in body && 'generation' in body;
}

/** The longest reason in a header, in characters. The client cannot encode header tables above 64 KiB. */
const MAX_REASON = 2_000;

/** After a start, messages arrive before any can be sent, because the topology is declared first. */
const PATIENCE_MS = 15_000;

const PAUSE_MS = 250;

/**
 * Moves messages that can never be processed to the parked queue, with the reason in their headers. Publishes a copy
 * and waits for its confirm before it acknowledges the original, because dead-lettering alone could not carry the
 * reason. If no queue takes it, it is declared again; until then the original stays in its own queue.
 */
export class ParkedQueue {
  private readonly logger = new Logger(ParkedQueue.name);

  constructor(
    private readonly publisher: ConfirmedPublisher,
    private readonly names: TopologyNames,
    private readonly clock: Clock,
    /** Declares the parked queue with its binding. */
    private readonly declare: () => Promise<void>,
  ) {}

  async park(delivery: Delivery, { code, reason }: ParkReason): Promise<void> {
    const { fields, properties } = delivery.message;
    const { correlationId, appId } = properties as MessageProperties;
    const mark = { 'x-ot-error-code': code, 'x-ot-error-reason': reason.slice(0, MAX_REASON) };
    const copy = {
      mandatory: true,
      exchange: this.names.parked,
      routingKey: shortString(fields.routingKey),
      body: delivery.body,
      messageId: shortString(String(properties.messageId ?? `${fields.consumerTag ?? ''}:${fields.deliveryTag}`)),
      type: shortString(String(properties.type ?? fields.routingKey)),
      ...(correlationId === undefined ? {} : { correlationId: shortString(correlationId) }),
      ...(appId === undefined ? {} : { appId: shortString(appId) }),
    };
    const end = await this.keep(
      delivery,
      { ...copy, headers: { ...withoutTransportHeaders(delivery.headers), ...mark } },
      { ...copy, headers: { ...mark, 'x-ot-headers-dropped': 'they cannot be encoded again' } },
    );
    const what = `a message of "${fields.routingKey}" [${code}]: ${reason}`;
    if (end === 'requeue')
      this.logger.error(`no queue is behind ${this.names.parked}, so it stays where it is: ${what}`);
    else this.logger.warn(`parked ${what}`);
    delivery.acknowledge(end);
  }

  /**
   * Publishes until the broker confirms. Uses `bare` once `copy` cannot be encoded. Without the copy, the dead-letter
   * exchange still keeps the message, but not the reason.
   */
  private async keep(
    delivery: Delivery,
    copy: Publication,
    bare: Publication,
  ): Promise<'ack' | 'dead-letter' | 'requeue'> {
    const endsAt = this.clock.monotonic() + PATIENCE_MS;
    for (let wanted = copy; ;) {
      const [outcome] = await this.publisher.publish([wanted]);
      if (outcome === 'confirmed') return 'ack';
      if (outcome === 'too-large') return 'dead-letter';
      if (outcome === 'unencodable') {
        if (wanted === bare) return 'dead-letter';
        wanted = bare;
        continue;
      }
      const isReturned = outcome === 'returned';
      if (delivery.isAcknowledged || this.clock.monotonic() >= endsAt) return isReturned ? 'requeue' : 'dead-letter';
      if (isReturned) await this.declare().catch(() => undefined);
      await this.clock.sleep(PAUSE_MS);
    }
  }
}

/**
 * Fits text into an AMQP short string, 255 bytes of UTF-8. Incoming text may be too long, because bytes that are not
 * UTF-8 were replaced with three bytes each. The cut counts UTF-16 units, each of which takes at most three bytes.
 */
function shortString(text: string): string {
  return Buffer.byteLength(text) <= 255 ? text : text.slice(0, 85);
}

const TRANSPORT_HEADER = /^(x-death|x-first-death-|x-last-death-|x-delay$|x-delivery-count$|x-acquired-count$|x-opt-)/;

/**
 * Returns the headers without those that the broker writes or obeys. A message must not be published again with them:
 * an old `x-death` looks like a dead-letter cycle, so the broker drops the message, and an old `x-delay` no longer
 * applies.
 */
export function withoutTransportHeaders(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !TRANSPORT_HEADER.test(name)));
}

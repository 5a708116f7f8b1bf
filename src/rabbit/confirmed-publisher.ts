import { type ChannelModel, type ConfirmChannel, IllegalOperationError, type Message, type Options } from 'amqplib';
import { type Clock, withTimeout } from '../clock';
import { KeptChannel } from './kept-channel';
import {
  type PublishOutcome,
  type PublishWatch,
  type Publication,
  PublishCall,
  type TakenPublication,
  type Unconfirmed,
  UnconfirmedPublications,
} from './publications';
import { type RabbitConnection } from './rabbit-connection';

interface PublisherDependencies {
  readonly window: number;
  readonly confirmTimeoutMs: number;
  /** Declares the exchanges and queues. Runs before the first message of every connection. */
  prepare(connection: RabbitConnection): Promise<void>;
}

/** How long a publication may wait for room in the window. A slower broker gets no more for now. */
const ROOM_MS = 5_000;

/**
 * A window that was full is refilled once this part of it is free. Refilling at each confirm would cost a system call
 * and a packet for each message.
 */
const FREE_PART = 1 / 4;

/** A broker that owes a confirm for this long does not deliver in time. */
const PUNCTUAL_MS = 5_000;

/** The longest wait for confirms at shutdown. The rows of the others stay in the outbox and are sent again. */
const CLOSE_MS = 2_000;

/**
 * Publishes on a raw confirm channel, pipelined in a bounded window, in the order of the calls. Every publication
 * resolves: without an answer of the broker it is `unknown`, never pending forever or kept in memory. The outbox is the
 * memory. A publication whose confirm is late leaves the window, so that one failing queue does not keep it full.
 */
export class ConfirmedPublisher {
  private readonly kept: KeptChannel<ConfirmChannel>;
  private readonly unconfirmed: UnconfirmedPublications;
  private readonly calls: PublishCall[] = [];
  /** The socket accepts no more data for now. The broker slows down publishers this way, too. */
  private isCongested = false;
  /** The broker's limit in bytes, known once it has refused a body. Changes only with a new connection. */
  private maxBodyBytes = Infinity;
  private model: ChannelModel | undefined;

  constructor(
    private readonly connection: RabbitConnection,
    private readonly clock: Clock,
    private readonly deps: PublisherDependencies,
  ) {
    this.unconfirmed = new UnconfirmedPublications(clock, deps.confirmTimeoutMs, () => this.sendWhatFits());
    this.kept = new KeptChannel(connection, clock, {
      name: `publisher:${connection.purpose}`,
      create: (model) => model.createConfirmChannel(),
      open: (channel, model) => this.open(channel, model),
      closed: () => this.giveUpAll(),
    });
  }

  /** False while there is no channel or the broker reads nothing: publishing now could only end in `unknown`. */
  get isReady(): boolean {
    return this.readyChannel !== undefined && !this.isCongested;
  }

  /** False while the broker has owed a confirm for five seconds, for example because a queue fails. */
  get isPunctual(): boolean {
    return this.unconfirmed.oldestMs < PUNCTUAL_MS;
  }

  /** The longest time until a publication is confirmed, times out, or is given up, milliseconds. */
  get longestMs(): number {
    return ROOM_MS + this.deps.confirmTimeoutMs;
  }

  /**
   * Returns one outcome per publication, in order. Never rejects. Takes each publication from the iterable when the
   * window has room for it, so that its remaining delay can be computed then; the iterable must not throw. With a
   * `watch`, the call does not wait for late confirms; the watch is told of them.
   */
  publish(publications: Iterable<Publication>, watch?: PublishWatch): Promise<PublishOutcome[]> {
    return new Promise((resolve) => {
      const call = new PublishCall(publications[Symbol.iterator](), resolve, watch);
      this.calls.push(call);
      this.sendWhatFits();
      if (!call.isTaken) call.limit(this.clock.after(ROOM_MS, () => call.giveUp()));
    });
  }

  /** Waits for open confirms for at most `confirmMs`, gives up the rest, and closes the channel within `closeMs`. */
  async close(confirmMs = CLOSE_MS, closeMs?: number): Promise<void> {
    const confirms = this.kept.channel?.waitForConfirms().catch(() => undefined);
    const limitMs = Math.min(confirmMs, this.deps.confirmTimeoutMs, CLOSE_MS);
    if (this.unconfirmed.size > 0 && confirms) await withTimeout(this.clock, limitMs, confirms, undefined);
    await this.kept.close(closeMs);
    this.giveUpAll();
  }

  private get readyChannel(): ConfirmChannel | undefined {
    return this.connection.isBlocked ? undefined : this.kept.channel;
  }

  private async open(channel: ConfirmChannel, model: ChannelModel): Promise<void> {
    if (this.model !== model) this.maxBodyBytes = Infinity;
    this.model = model;
    this.isCongested = false;
    channel.on('return', (message: Message) => this.returned(message));
    channel.on('error', (error: Error) => this.refused(error));
    channel.on('drain', () => {
      this.isCongested = false;
      this.sendWhatFits();
    });
    await this.deps.prepare(this.connection);
  }

  /** Without a channel, ends every waiting publication here. */
  private sendWhatFits(): void {
    for (let call = this.calls[0]; call && this.hasRoom; call = this.calls[0]) {
      const next = call.take();
      const channel = this.readyChannel;
      if (!next) this.calls.shift();
      else if (channel) this.send(channel, call, next);
      else call.record(next.index, 'unknown');
    }
  }

  private get hasRoom(): boolean {
    return this.unconfirmed.inWindow < this.deps.window && (!this.isCongested || !this.readyChannel);
  }

  private send(channel: ConfirmChannel, call: PublishCall, { publication, index }: TakenPublication): void {
    const { exchange, routingKey, body, messageId } = publication;
    const bodyBytes = body.length;
    if (bodyBytes > this.maxBodyBytes) return call.refuse(index, 'too-large', this.aboveSize(bodyBytes));
    const unconfirmed = { call, index, messageId, bodyBytes, sentAt: this.clock.monotonic(), isReturned: false };
    this.unconfirmed.add(unconfirmed);
    try {
      const isTaken = channel.publish(
        exchange,
        routingKey,
        body,
        propertiesOf(publication, this.clock.now()),
        (error: unknown) => this.answered(unconfirmed, error),
      );
      if (isTaken === false) this.isCongested = true;
    } catch (error) {
      this.unsendable(unconfirmed, error);
    }
  }

  /** amqplib encodes before it writes anything or expects a confirm, so the channel continues with the next message. */
  private unsendable(unconfirmed: Unconfirmed, error: unknown): void {
    if (error instanceof IllegalOperationError) return this.record(unconfirmed, 'unknown');
    if (this.unconfirmed.delete(unconfirmed)) unconfirmed.call.refuse(unconfirmed.index, 'unencodable', String(error));
  }

  private answered(unconfirmed: Unconfirmed, error: unknown): void {
    const isNack = error instanceof Error && error.message === 'message nacked';
    if (error) this.record(unconfirmed, isNack ? 'nacked' : 'unknown');
    else this.record(unconfirmed, unconfirmed.isReturned ? 'returned' : 'confirmed');
    if (this.unconfirmed.inWindow <= this.deps.window * (1 - FREE_PART)) this.sendWhatFits();
  }

  /** The broker returns a mandatory message before it confirms it, so the mark is always in time. */
  private returned({ properties }: Message): void {
    for (const unconfirmed of this.unconfirmed) {
      if (unconfirmed.messageId === properties.messageId) unconfirmed.isReturned = true;
    }
  }

  /** Called before the channel closes. Finds the refused message; the others are `unknown` and can be sent again. */
  private refused(error: Error): void {
    const maxBytes = maxMessageSizeIn(error);
    if (maxBytes === undefined) return;
    this.maxBodyBytes = maxBytes;
    for (const one of this.unconfirmed) {
      if (one.bodyBytes <= maxBytes || !this.unconfirmed.delete(one)) continue;
      one.call.refuse(one.index, 'too-large', this.aboveSize(one.bodyBytes));
    }
  }

  private aboveSize(bytes: number): string {
    return `a body of ${bytes} bytes; the broker's max_message_size is ${this.maxBodyBytes}`;
  }

  /** The first answer counts. An answer for a forgotten message changes nothing. */
  private record(unconfirmed: Unconfirmed, outcome: PublishOutcome): void {
    if (this.unconfirmed.delete(unconfirmed)) unconfirmed.call.record(unconfirmed.index, outcome);
  }

  private giveUpAll(): void {
    this.unconfirmed.stopTimer();
    for (const one of this.unconfirmed) this.record(one, 'unknown');
    for (const call of this.calls.splice(0)) call.giveUp();
  }
}

/** The AMQP properties of a publication. @param nowMs epoch milliseconds. */
function propertiesOf(
  { messageId, type, headers, correlationId, appId, mandatory }: Publication,
  nowMs: number,
): Options.Publish {
  return {
    persistent: true,
    messageId,
    type,
    contentType: 'application/json',
    timestamp: Math.floor(nowMs / 1000),
    ...(headers && { headers }),
    ...(correlationId !== undefined && { correlationId }),
    ...(appId !== undefined && { appId }),
    ...(mandatory && { mandatory }),
  };
}

/** The text of RabbitMQ 3.8 to 4.3 when it closes a channel with 406 for a body above `max_message_size`. */
const ABOVE_SIZE = /message size \d+ is larger than (?:configured )?max size (\d+)/;

/** The broker's limit in bytes, if that is why it closed the channel. */
function maxMessageSizeIn({ message }: Error): number | undefined {
  const [, bytes] = ABOVE_SIZE.exec(message) ?? [];
  return bytes === undefined ? undefined : Number(bytes);
}

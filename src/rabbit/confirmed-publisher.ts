import { type ConfirmChannel, IllegalOperationError, type Message, type Options } from 'amqplib';
import { type Clock, type Timer, within } from '../clock';
import { KeptChannel } from './kept-channel';
import { type Publication, type PublishOutcome } from './publication';
import { PublishCall, type TakenPublication } from './publish-call';
import { type RabbitConnection } from './rabbit-connection';

interface PublisherPlan {
  readonly window: number;
  readonly confirmTimeoutMs: number;
  /** Declares what is published to; runs before the first message of every connection. */
  prepare(connection: RabbitConnection): Promise<void>;
}

/** A publication the broker has not answered for. */
interface Unconfirmed {
  readonly call: PublishCall;
  readonly index: number;
  readonly messageId: string;
  /** By the monotonic clock. */
  readonly expiresAt: number;
  isReturned: boolean;
}

/** How long a publication may wait for room in the window; a broker that is so slow gets no more for now. */
const ROOM_MS = 5_000;
/**
 * A window that was full is filled up again when so much of it is free: one confirm, one message would cost a system
 * call and a packet for each message.
 */
const FREE_PART = 1 / 4;

/**
 * Publishes on a raw confirm channel, pipelined in a bounded window, in the order of the calls. Every publication
 * settles: what the broker did not answer for is `unknown`, never pending for ever and never kept in memory for later;
 * the outbox is the memory.
 */
export class ConfirmedPublisher {
  private readonly kept: KeptChannel<ConfirmChannel>;
  /** In the order of sending, so that the first one is the first to expire. */
  private readonly pending = new Set<Unconfirmed>();
  private readonly calls: PublishCall[] = [];
  private expiry: Timer | undefined;

  constructor(
    private readonly connection: RabbitConnection,
    private readonly clock: Clock,
    private readonly plan: PublisherPlan,
  ) {
    this.kept = new KeptChannel(connection, clock, {
      name: 'publisher',
      create: (model) => model.createConfirmChannel(),
      open: async (channel) => {
        channel.on('return', (message: Message) => this.returned(message));
        await this.plan.prepare(this.connection);
      },
      closed: () => this.giveUpAll(),
    });
  }

  /** False while there is no channel or the broker blocks us: publishing now could only end in `unknown`. */
  get isReady(): boolean {
    return this.readyChannel !== undefined;
  }

  /** The longest that `publish` may take, milliseconds. */
  get longestMs(): number {
    return ROOM_MS + this.plan.confirmTimeoutMs;
  }

  /**
   * One outcome per publication, in order. Never rejects. Each publication is taken from the iterable when there is
   * room for it in the window, so that what is left of a delay can be computed then; the iterable must not throw.
   */
  publish(publications: Iterable<Publication>): Promise<PublishOutcome[]> {
    return new Promise((resolve) => {
      const call = new PublishCall(publications[Symbol.iterator](), resolve);
      this.calls.push(call);
      this.sendWhatFits();
      if (!call.isTaken) call.limit(this.clock.after(ROOM_MS, () => call.giveUp()));
    });
  }

  /** Waits for the open confirms, at most as long as for any; then gives the rest up. */
  async close(): Promise<void> {
    const confirms = this.kept.channel?.waitForConfirms().catch(() => undefined);
    if (this.pending.size > 0 && confirms) await within(this.clock, this.plan.confirmTimeoutMs, confirms, undefined);
    await this.kept.close();
    this.giveUpAll();
  }

  private get readyChannel(): ConfirmChannel | undefined {
    return this.connection.isBlocked ? undefined : this.kept.channel;
  }

  /** Without a channel everything that waits is answered here. */
  private sendWhatFits(): void {
    for (let call = this.calls[0]; call && this.pending.size < this.plan.window; call = this.calls[0]) {
      const next = call.take();
      const channel = this.readyChannel;
      if (!next) this.calls.shift();
      else if (channel) this.send(channel, call, next);
      else call.settle(next.index, 'unknown');
    }
  }

  private send(channel: ConfirmChannel, call: PublishCall, { publication, index }: TakenPublication): void {
    const { exchange, routingKey, body, messageId } = publication;
    const expiresAt = this.clock.monotonic() + this.plan.confirmTimeoutMs;
    const unconfirmed: Unconfirmed = { call, index, messageId, expiresAt, isReturned: false };
    this.pending.add(unconfirmed);
    try {
      channel.publish(exchange, routingKey, body, this.properties(publication), (error: unknown) =>
        this.answered(unconfirmed, error),
      );
    } catch (error) {
      // amqplib encodes before it writes anything or expects a confirm, so the channel goes on with the next message.
      this.settle(unconfirmed, error instanceof IllegalOperationError ? 'unknown' : 'unencodable');
    }
    this.expiry ??= this.clock.after(this.plan.confirmTimeoutMs, () => this.expire());
  }

  private properties({ messageId, type, headers, mandatory }: Publication): Options.Publish {
    return {
      persistent: true,
      messageId,
      type,
      contentType: 'application/json',
      timestamp: Math.floor(this.clock.now() / 1000),
      ...(headers && { headers }),
      ...(mandatory && { mandatory }),
    };
  }

  private answered(unconfirmed: Unconfirmed, error: unknown): void {
    const isNack = error instanceof Error && error.message === 'message nacked';
    if (error) this.settle(unconfirmed, isNack ? 'nacked' : 'unknown');
    else this.settle(unconfirmed, unconfirmed.isReturned ? 'returned' : 'confirmed');
    if (this.pending.size <= this.plan.window * (1 - FREE_PART)) this.sendWhatFits();
  }

  /** A mandatory message is returned before it is confirmed, so the mark is always in time. */
  private returned({ properties }: Message): void {
    for (const unconfirmed of this.pending) {
      if (unconfirmed.messageId === properties.messageId) unconfirmed.isReturned = true;
    }
  }

  /** One timer for all of them: the oldest one's. */
  private expire(): void {
    this.expiry = undefined;
    const now = this.clock.monotonic();
    for (const unconfirmed of this.pending) {
      if (unconfirmed.expiresAt > now) {
        this.expiry = this.clock.after(unconfirmed.expiresAt - now, () => this.expire());
        break;
      }
      this.settle(unconfirmed, 'unknown');
    }
    this.sendWhatFits();
  }

  /** The first answer counts: one that comes after the time limit finds nothing to settle. */
  private settle(unconfirmed: Unconfirmed, outcome: PublishOutcome): void {
    if (this.pending.delete(unconfirmed)) unconfirmed.call.settle(unconfirmed.index, outcome);
  }

  private giveUpAll(): void {
    this.expiry?.cancel();
    this.expiry = undefined;
    for (const unconfirmed of this.pending) this.settle(unconfirmed, 'unknown');
    for (const call of this.calls.splice(0)) call.giveUp();
  }
}

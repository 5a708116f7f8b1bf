import { type ConfirmChannel, type Message } from 'amqplib';
import { type Clock, type Timer, within } from '../clock';
import { KeptChannel } from './kept-channel';
import { type Publication, type PublishOutcome } from './publication';
import { type RabbitConnection } from './rabbit-connection';

interface PublisherPlan {
  readonly window: number;
  readonly confirmTimeoutMs: number;
  /** Declares what is published to; runs before the first message of every connection. */
  prepare(connection: RabbitConnection): Promise<void>;
}

/** A publication the broker has not answered for. */
class Unconfirmed {
  private timer: Timer | undefined;
  isReturned = false;
  constructor(private readonly resolve: (outcome: PublishOutcome) => void) {}

  limit(clock: Clock, ms: number, expired: () => void): void {
    this.timer = clock.after(ms, expired);
  }

  settle(outcome: PublishOutcome): void {
    this.timer?.cancel();
    this.resolve(outcome);
  }
}

/**
 * Publishes on a raw confirm channel, pipelined in a bounded window. Every publication settles: what the broker
 * did not answer for is `unknown`, never pending for ever and never kept in memory for later; the outbox is the
 * memory.
 */
export class ConfirmedPublisher {
  private readonly kept: KeptChannel<ConfirmChannel>;
  private readonly pending = new Map<string, Unconfirmed>();
  private readonly waiting: (() => void)[] = [];

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
    return this.kept.channel !== undefined && !this.connection.isBlocked;
  }

  /** The longest that `publish` may take for so many, milliseconds: each window may wait for its confirms. */
  longestMs(count: number): number {
    return Math.ceil(count / this.plan.window) * this.plan.confirmTimeoutMs;
  }

  /** One outcome per publication, in order. Never rejects. */
  publish(publications: readonly Publication[]): Promise<PublishOutcome[]> {
    return Promise.all(publications.map((publication) => this.publishOne(publication)));
  }

  /** Waits for the open confirms, at most as long as for any; then gives the rest up. */
  async close(): Promise<void> {
    const confirms = this.kept.channel?.waitForConfirms().catch(() => undefined);
    if (this.pending.size > 0 && confirms) await within(this.clock, this.plan.confirmTimeoutMs, confirms, undefined);
    await this.kept.close();
    this.giveUpAll();
  }

  private async publishOne(publication: Publication): Promise<PublishOutcome> {
    while (this.pending.size >= this.plan.window) await new Promise<void>((resolve) => this.waiting.push(resolve));
    const channel = this.kept.channel;
    if (!channel || this.connection.isBlocked) {
      // Nothing of ours will be settled, so the next one in the queue has to be woken here.
      this.waiting.shift()?.();
      return 'unknown';
    }
    return new Promise((resolve) => this.send(channel, publication, new Unconfirmed(resolve)));
  }

  private send(channel: ConfirmChannel, publication: Publication, unconfirmed: Unconfirmed): void {
    const { exchange, routingKey, body, messageId, type, headers, mandatory } = publication;
    this.pending.set(messageId, unconfirmed);
    unconfirmed.limit(this.clock, this.plan.confirmTimeoutMs, () => this.settle(messageId, unconfirmed, 'unknown'));
    const options = {
      persistent: true,
      messageId,
      type,
      contentType: 'application/json',
      timestamp: Math.floor(this.clock.now() / 1000),
      ...(headers && { headers }),
      ...(mandatory && { mandatory }),
    };
    try {
      channel.publish(exchange, routingKey, body, options, (error: unknown) =>
        this.answered(messageId, unconfirmed, error),
      );
    } catch {
      this.settle(messageId, unconfirmed, 'unknown');
    }
  }

  private answered(messageId: string, unconfirmed: Unconfirmed, error: unknown): void {
    if (!error) return this.settle(messageId, unconfirmed, unconfirmed.isReturned ? 'returned' : 'confirmed');
    const isNack = error instanceof Error && error.message === 'message nacked';
    this.settle(messageId, unconfirmed, isNack ? 'nacked' : 'unknown');
  }

  /** A mandatory message is returned before it is confirmed, so the mark is always in time. */
  private returned(message: Message): void {
    const unconfirmed = this.pending.get(String(message.properties.messageId));
    if (unconfirmed) unconfirmed.isReturned = true;
  }

  private settle(messageId: string, unconfirmed: Unconfirmed, outcome: PublishOutcome): void {
    if (this.pending.get(messageId) === unconfirmed) this.pending.delete(messageId);
    unconfirmed.settle(outcome);
    this.waiting.shift()?.();
  }

  private giveUpAll(): void {
    for (const [messageId, unconfirmed] of [...this.pending]) this.settle(messageId, unconfirmed, 'unknown');
  }
}

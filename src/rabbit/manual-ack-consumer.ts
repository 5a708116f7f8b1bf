import { randomUUID } from 'node:crypto';
import { type Channel, type ConsumeMessage } from 'amqplib';
import { type Clock, type Timer, within } from '../clock';
import { Delivery } from './delivery';
import { GatheredAcks } from './gathered-acks';
import { KeptChannel } from './kept-channel';
import { type RabbitConnection } from './rabbit-connection';

interface ConsumerPlan {
  readonly queue: string;
  readonly prefetch: number;
  /** Declares the queue and what it hangs on. */
  prepare(channel: Channel): Promise<void>;
  /** Takes a delivery over; whoever takes it settles it. Must not throw. */
  onDelivery(delivery: Delivery): void;
}

/** Consumes one queue with manual acknowledgement, and goes on doing so after reconnects and broker cancels. */
export class ManualAckConsumer {
  private readonly kept: KeptChannel<Channel>;
  private readonly unsettled = new Set<Delivery>();
  private consumerTag: string | undefined;
  private acks: { readonly channel: Channel; readonly of: GatheredAcks } | undefined;
  private isStopped = false;
  private isPaused = false;
  private resuming: Timer | undefined;
  private drained: (() => void)[] = [];

  constructor(
    connection: RabbitConnection,
    private readonly clock: Clock,
    private readonly plan: ConsumerPlan,
  ) {
    this.kept = new KeptChannel(connection, clock, {
      name: plan.queue,
      create: (model) => model.createChannel(),
      open: (channel) => this.open(channel),
      closed: () => this.forgetAll(),
    });
  }

  get isConsuming(): boolean {
    return this.kept.channel !== undefined && !this.isPaused && !this.isStopped;
  }

  get unsettledCount(): number {
    return this.unsettled.size;
  }

  /** Stops deliveries for a while, e.g. while the database is away. What is unsettled stays with its takers. */
  async pause(ms: number): Promise<void> {
    if (this.isPaused || this.isStopped) return;
    this.isPaused = true;
    await this.cancel();
    if (this.isStopped) return;
    this.resuming = this.clock.after(ms, () => void this.resume());
  }

  /** No more deliveries, for good. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.resuming?.cancel();
    await this.cancel();
  }

  /** Resolves when every delivery is settled, or after `ms`. */
  async whenSettled(ms: number): Promise<void> {
    if (this.unsettled.size === 0) return;
    await within(this.clock, ms, new Promise<void>((resolve) => this.drained.push(resolve)), undefined);
  }

  /** Gives back what nobody settled, and closes the channel. */
  async close(): Promise<void> {
    for (const delivery of [...this.unsettled]) delivery.settle('requeue');
    this.acks?.of.flush();
    await this.kept.close();
  }

  private async open(channel: Channel): Promise<void> {
    await this.plan.prepare(channel);
    await channel.prefetch(this.plan.prefetch);
    if (!this.isStopped && !this.isPaused) await this.consume(channel);
  }

  private async consume(channel: Channel): Promise<void> {
    const acks = this.acksOf(channel);
    const onMessage = (message: ConsumeMessage | null): void => this.received(channel, acks, message);
    // Chosen here and known at once, so that a cancel can follow before the answer to consume is there.
    const consumerTag = randomUUID();
    this.consumerTag = consumerTag;
    await channel.consume(this.plan.queue, onMessage, { noAck: false, consumerTag });
    // Stopped or paused while the channel was still being opened, where cancel() could not reach it.
    if (this.isStopped || this.isPaused) await channel.cancel(consumerTag);
  }

  private received(channel: Channel, acks: GatheredAcks, message: ConsumeMessage | null): void {
    // null: the broker cancelled the consumer, because the queue was deleted or its leader moved.
    if (message === null) return void this.kept.reset(channel);
    acks.delivered(message);
    const delivery = new Delivery(message, acks, (settled) => this.settled(settled));
    this.unsettled.add(delivery);
    if (this.isStopped) return delivery.settle('requeue');
    this.plan.onDelivery(delivery);
  }

  /** One for the life of a channel, however often it is paused: they must know of all its deliveries. */
  private acksOf(channel: Channel): GatheredAcks {
    if (this.acks?.channel !== channel) this.acks = { channel, of: new GatheredAcks(channel) };
    return this.acks.of;
  }

  private settled(delivery: Delivery): void {
    this.unsettled.delete(delivery);
    if (this.unsettled.size === 0) for (const resolve of this.drained.splice(0)) resolve();
  }

  private async cancel(): Promise<void> {
    const { channel } = this.kept;
    const tag = this.consumerTag;
    if (!channel || !tag) return;
    this.consumerTag = undefined;
    await channel.cancel(tag).catch(() => undefined);
  }

  private async resume(): Promise<void> {
    this.isPaused = false;
    const channel = this.kept.channel;
    if (channel && !this.isStopped) await this.consume(channel).catch(() => this.kept.reset(channel));
  }

  private forgetAll(): void {
    this.consumerTag = undefined;
    this.unsettled.clear();
    for (const resolve of this.drained.splice(0)) resolve();
  }
}

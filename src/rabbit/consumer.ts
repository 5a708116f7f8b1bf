import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, type ConsumeMessage } from 'amqplib';
import { type Clock, withTimeout } from '../clock';
import { Delivery, GatheredAcks } from './delivery';
import { KeptChannel } from './kept-channel';
import { QueueUnavailableError } from './errors';
import { type RabbitConnection } from './rabbit-connection';

interface ConsumerDependencies {
  readonly queue: string;
  readonly prefetch: number;
  /** Declares the queue and the objects it depends on. */
  prepare(channel: Channel, model: ChannelModel): Promise<void>;
  /** Takes over a delivery; the receiver must acknowledge it. Must not throw. */
  onDelivery(delivery: Delivery): void;
  /** Whether the queue serves consumers, determined without risk to this connection. Must not reject. */
  serves(): Promise<boolean>;
}

/** Consuming takes milliseconds. A quorum queue without a leader never answers. */
const CONSUME_MS = 10_000;

/** A broker that does not respond must not delay a pause or a shutdown. */
const CANCEL_MS = 2_000;

/** Consumes one queue with manual acknowledgment, and consumes it again after reconnects and broker cancels. */
export class ManualAckConsumer {
  private readonly kept: KeptChannel<Channel>;
  private readonly unacknowledged = new Set<Delivery>();
  private readonly stopping = new AbortController();
  private consumerTag: string | undefined;
  private acks: { readonly channel: Channel; readonly of: GatheredAcks } | undefined;
  private isSuspended = false;
  /** The queue could not be consumed. Another try on the shared connection could end all consumers. */
  private isUnavailable = false;
  private drained: (() => void)[] = [];

  constructor(
    connection: RabbitConnection,
    private readonly clock: Clock,
    private readonly deps: ConsumerDependencies,
  ) {
    this.kept = new KeptChannel(connection, clock, {
      name: deps.queue,
      create: (model) => model.createChannel(),
      open: (channel, model) => this.open(channel, model),
      closed: () => this.forgetAll(),
    });
  }

  /** Deliveries arrive. */
  get isConsuming(): boolean {
    return this.isOpen && !this.isSuspended;
  }

  /** Deliveries arrive, or would arrive if it were not suspended. */
  get isOpen(): boolean {
    return this.kept.channel !== undefined && !this.isStopped;
  }

  /** Aborts when the consumer is stopped. */
  get stopped(): AbortSignal {
    return this.stopping.signal;
  }

  get unacknowledgedCount(): number {
    return this.unacknowledged.size;
  }

  /**
   * Stops deliveries until `resume`, for example while the database is unavailable. Receivers keep their unacknowledged
   * deliveries.
   */
  async suspend(): Promise<void> {
    this.isSuspended = true;
    await this.cancel();
  }

  async resume(): Promise<void> {
    if (!this.isSuspended) return;
    this.isSuspended = false;
    const channel = this.kept.channel;
    if (channel && !this.isStopped) await this.consume(channel).catch(() => this.kept.reset(channel));
  }

  /** Stops deliveries permanently. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.cancel();
  }

  /** Resolves once every delivery is acknowledged, or after `ms`. */
  async whenAcknowledged(ms: number): Promise<void> {
    if (this.unacknowledged.size === 0) return;
    await withTimeout(this.clock, ms, new Promise<void>((resolve) => this.drained.push(resolve)), undefined);
  }

  /**
   * Returns unacknowledged deliveries to the queue and closes the channel. Waits for the broker's answer for at most `ms`.
   */
  async close(ms?: number): Promise<void> {
    for (const delivery of [...this.unacknowledged]) delivery.acknowledge('requeue');
    this.acks?.of.flush();
    await this.kept.close(ms);
  }

  private get isStopped(): boolean {
    return this.stopped.aborted;
  }

  private async open(channel: Channel, model: ChannelModel): Promise<void> {
    if (this.isUnavailable && !(await this.deps.serves())) throw new QueueUnavailableError(this.deps.queue, CONSUME_MS);
    this.isUnavailable = false;
    await this.deps.prepare(channel, model);
    await channel.prefetch(this.deps.prefetch);
    if (!this.isStopped && !this.isSuspended) await this.consume(channel);
  }

  private async consume(channel: Channel): Promise<void> {
    const acks = this.acksOf(channel);
    const onMessage = (message: ConsumeMessage | null): void => this.received(channel, acks, message);
    // Chosen here and therefore known immediately, so that a cancel can follow before consume is answered.
    const consumerTag = randomUUID();
    this.consumerTag = consumerTag;
    const consuming = channel.consume(this.deps.queue, onMessage, { noAck: false, consumerTag }).then(() => true);
    if (!(await withTimeout(this.clock, CONSUME_MS, consuming, false))) {
      this.isUnavailable = true;
      throw new QueueUnavailableError(this.deps.queue, CONSUME_MS);
    }
    // Stopped or suspended while the channel was being opened, where cancel() could not reach it.
    if (this.isStopped || this.isSuspended) await channel.cancel(consumerTag);
  }

  private received(channel: Channel, acks: GatheredAcks, message: ConsumeMessage | null): void {
    // null: the broker canceled the consumer, because the queue was deleted or its leader moved.
    if (message === null) return void this.kept.reset(channel);
    acks.delivered(message);
    const delivery = new Delivery(message, acks, (one) => this.acknowledged(one), this.clock.monotonic());
    this.unacknowledged.add(delivery);
    if (this.isStopped) return delivery.acknowledge('requeue');
    this.deps.onDelivery(delivery);
  }

  /** One per channel, even if it is suspended several times: it must know all deliveries of the channel. */
  private acksOf(channel: Channel): GatheredAcks {
    if (this.acks?.channel !== channel) this.acks = { channel, of: new GatheredAcks(channel) };
    return this.acks.of;
  }

  private acknowledged(delivery: Delivery): void {
    this.unacknowledged.delete(delivery);
    if (this.unacknowledged.size === 0) this.tellDrained();
  }

  private async cancel(): Promise<void> {
    const { channel } = this.kept;
    const tag = this.consumerTag;
    if (!channel || !tag) return;
    this.consumerTag = undefined;
    // Inside a promise, because canceling on a closed channel throws.
    const canceling = Promise.resolve()
      .then(() => channel.cancel(tag))
      .catch(() => undefined);
    await withTimeout<unknown>(this.clock, CANCEL_MS, canceling, undefined);
  }

  private forgetAll(): void {
    this.consumerTag = undefined;
    for (const delivery of this.unacknowledged) delivery.forget();
    this.unacknowledged.clear();
    this.tellDrained();
  }

  private tellDrained(): void {
    for (const resolve of this.drained.splice(0)) resolve();
  }
}

interface KeptDeliveriesDependencies {
  readonly consumer: Pick<ManualAckConsumer, 'suspend' | 'resume' | 'stopped'>;
  /** Whether what the work needs is available, for example the database. */
  isThere(): Promise<boolean>;
}

interface Kept {
  readonly delivery: Delivery;
  resolve(isToBeTried: boolean): void;
}

const FIRST_PAUSE_MS = 250;

/** Also the longest delay from the end of the outage until work continues. */
const LONGEST_PAUSE_MS = 2_000;

/** No answer within this time counts as unavailable. */
const ANSWER_MS = 5_000;

/** The broker closes the channel of a consumer that acknowledges nothing for 30 min (consumer_timeout). */
const LONGEST_KEEP_MS = 20 * 60_000;

/**
 * Keeps deliveries unacknowledged in this process while something they need is unavailable. Up to RabbitMQ 4.2, each
 * returned message counts as a delivery, and it is parked after x-delivery-limit of them. The consumer is canceled
 * first and consumes again once the missing service answers, so an outage of any length costs a message at most one
 * delivery per instance.
 */
export class KeptDeliveries {
  private readonly kept = new Set<Kept>();
  private isWaiting = false;
  private pauseMs = FIRST_PAUSE_MS;
  private endedAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly deps: KeptDeliveriesDependencies,
  ) {}

  /** Whether the missing service answers within 5 s. */
  isThere(): Promise<boolean> {
    return withTimeout(this.clock, ANSWER_MS, this.deps.isThere(), false, this.deps.consumer.stopped);
  }

  /** Stops consuming until the missing service answers. */
  pause(): void {
    if (this.isWaiting || this.deps.consumer.stopped.aborted) return;
    this.isWaiting = true;
    void this.wait();
  }

  /** Pauses. Resolves to true if `delivery` should be tried again, to false if it was returned or lost. */
  keep(delivery: Delivery): Promise<boolean> {
    this.pause();
    if (!this.isWaiting) return Promise.resolve(this.requeue(delivery));
    return new Promise((resolve) => this.kept.add({ delivery, resolve }));
  }

  /**
   * Like `keep`, but for a problem of this delivery alone, such as a lock: waits `pauseMs` while the others continue.
   */
  async keepAlone(delivery: Delivery, pauseMs: number): Promise<boolean> {
    await this.clock.sleep(pauseMs, this.deps.consumer.stopped);
    return this.mayGoOn(delivery) || this.requeue(delivery);
  }

  /** False if it is acknowledged or older than 20 min, or if the consumer has stopped. It must then be returned. */
  mayGoOn({ isAcknowledged, receivedAt }: Delivery): boolean {
    const isOld = this.clock.monotonic() - receivedAt >= LONGEST_KEEP_MS;
    return !isAcknowledged && !isOld && !this.deps.consumer.stopped.aborted;
  }

  private async wait(): Promise<void> {
    const { consumer } = this.deps;
    // An outage that returns a moment after its end keeps the longer pause.
    if (this.clock.monotonic() - this.endedAt > 2 * LONGEST_PAUSE_MS) this.pauseMs = FIRST_PAUSE_MS;
    await consumer.suspend();
    do {
      this.release((delivery) => !this.mayGoOn(delivery));
      await this.clock.sleep(this.pauseMs, consumer.stopped);
      this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
    } while (!consumer.stopped.aborted && !(await this.isThere()));
    this.endedAt = this.clock.monotonic();
    this.isWaiting = false;
    this.release(() => true);
    await consumer.resume();
  }

  private release(isWanted: (delivery: Delivery) => boolean): void {
    for (const kept of this.kept) {
      if (!isWanted(kept.delivery)) continue;
      this.kept.delete(kept);
      kept.resolve(this.mayGoOn(kept.delivery) || this.requeue(kept.delivery));
    }
  }

  private requeue(delivery: Delivery): false {
    delivery.acknowledge('requeue');
    return false;
  }
}

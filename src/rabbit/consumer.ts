import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, type ConsumeMessage } from 'amqplib';
import { Logger } from '@nestjs/common';
import { type Clock, withTimeout } from '../clock';
import { KeptChannel } from './kept-channel';
import { QueueUnavailableError } from './errors';
import { type RabbitConnection } from './rabbit-connection';
import { DROPPED_HEADERS } from './workarounds/undecodable-headers';

interface ConsumerDependencies {
  readonly queue: string;
  readonly prefetch: number;
  /** Declares the queue and the objects it depends on. */
  prepare(channel: Channel, model: ChannelModel): Promise<void>;
  /** Takes over a delivery; the receiver must acknowledge it. Must not throw. */
  readonly onDelivery: (delivery: Delivery) => void;
  /** The same for one whose headers could not be decoded, and were dropped. */
  readonly onUnreadable: (delivery: Delivery) => void;
  /** Whether the queue serves consumers, determined without risk to this connection. Must not reject. */
  serves(): Promise<boolean>;
}

const logger = new Logger('Consumer');

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

  get isConsuming(): boolean {
    return this.isOpen && !this.isSuspended;
  }

  /** Deliveries arrive, or would arrive if it were not suspended. */
  get isOpen(): boolean {
    return this.kept.channel !== undefined && !this.isStopped;
  }

  get stopped(): AbortSignal {
    return this.stopping.signal;
  }

  get unacknowledgedCount(): number {
    return this.unacknowledged.size;
  }

  /** Stops deliveries until `resume`, as while the database is unavailable. Receivers keep what is unacknowledged. */
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

  /** Requeues unacknowledged deliveries and closes the channel. Waits for the broker's answer for at most `ms`. */
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
    // Until it is answered: a quorum queue without its process ends the connection, with all its consumers (3.10.8: 541).
    this.isUnavailable = true;
    const consuming = channel.consume(this.deps.queue, onMessage, { noAck: false, consumerTag }).then(() => true);
    if (!(await withTimeout(this.clock, CONSUME_MS, consuming, false)))
      throw new QueueUnavailableError(this.deps.queue, CONSUME_MS);
    this.isUnavailable = false;
    // Stopped or suspended while the channel was being opened, where cancel() could not reach it.
    if (this.isStopped || this.isSuspended) await channel.cancel(consumerTag);
  }

  private received(channel: Channel, acks: GatheredAcks, message: ConsumeMessage | null): void {
    if (message === null) return this.canceled(channel);
    acks.delivered(message);
    const delivery = new Delivery(message, acks, (one) => this.acknowledged(one), this.clock.monotonic());
    this.unacknowledged.add(delivery);
    if (this.isStopped) return delivery.acknowledge('requeue');
    if (DROPPED_HEADERS in message.properties) this.deps.onUnreadable(delivery);
    else this.deps.onDelivery(delivery);
  }

  private canceled(channel: Channel): void {
    const { queue } = this.deps;
    logger.warn(`the queue "${queue}" was deleted with what was in it, or its leader moved; it is declared again`);
    void this.kept.reset(channel);
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

/** One message with the channel that delivered it. Acknowledged exactly once; later calls do nothing. */
export class Delivery {
  private acknowledged = false;
  private failed = 0;

  constructor(
    readonly message: ConsumeMessage,
    private readonly channel: AcknowledgingChannel,
    private readonly onAcknowledged: (delivery: Delivery) => void,
    /** By the monotonic clock, milliseconds. */
    readonly receivedAt: number,
  ) {}

  get body(): Buffer {
    return this.message.content;
  }

  get headers(): Record<string, unknown> {
    return this.message.properties.headers ?? {};
  }

  /** The queue where the sender wants the answer. Undefined: it wants none. */
  get replyTo(): string | undefined {
    return textOf(this.message.properties.replyTo);
  }

  /** What the sender recognizes the answer by. */
  get correlationId(): string | undefined {
    return textOf(this.message.properties.correlationId);
  }

  /** A previous consumer did not acknowledge it. */
  get isRedelivered(): boolean {
    return this.message.fields.redelivered;
  }

  /** How often it was delivered before. Undefined at the first delivery and on classic queues, which do not count. */
  get deliveries(): number | undefined {
    // RabbitMQ 4.3 counts returned messages in `x-acquired-count` only.
    const counts = [this.headers['x-delivery-count'], this.headers['x-acquired-count']];
    return counts.filter((count) => typeof count === 'number').sort((a, b) => b - a)[0];
  }

  /**
   * @internal How often its handler has failed: the broker's count, or where it keeps none, ours since it arrived. That it was
   * returned before counts as once.
   */
  get failures(): number {
    return this.deliveries ?? this.failed + (this.isRedelivered ? 1 : 0);
  }

  /** @internal Was returned before, and nobody has counted: a classic queue only marks that. */
  get isUncounted(): boolean {
    return this.isRedelivered && this.deliveries === undefined;
  }

  /** @internal Its handler has failed, and it is tried again without being returned. */
  countFailure(): void {
    this.failed += 1;
  }

  /** True if it has been acknowledged, for example by the shutdown, or if its channel has closed. */
  get isAcknowledged(): boolean {
    return this.acknowledged;
  }

  /** Its channel has closed: the broker delivers the message again, and takes no more answers for this delivery. */
  forget(): void {
    this.acknowledged = true;
  }

  acknowledge(acknowledgment: Acknowledgment): void {
    if (this.acknowledged) return;
    this.acknowledged = true;
    acknowledge(this.channel, this.message, acknowledgment);
    this.onAcknowledged(this);
  }
}

/** Some clients send an empty text for a property that they do not set. */
function textOf(property: unknown): string | undefined {
  return typeof property === 'string' && property !== '' ? property : undefined;
}

/**
 * How a delivery ends.
 * - `ack`: its work is committed, or there is none.
 * - `requeue`: it could not be stored; another consumer or a later try may succeed.
 * - `dead-letter`: it can never be processed and goes to the parked queue.
 */
type Acknowledgment = 'ack' | 'requeue' | 'dead-letter';

type AcknowledgingChannel = Pick<GatheredAcks, 'ack' | 'nack'>;

/**
 * The only code that acknowledges or rejects. Takes the channel that delivered the message, because a tag means nothing
 * on another one. A closed channel is only a warning: the broker redelivers, and the use cases are idempotent.
 */
export function acknowledge(
  channel: AcknowledgingChannel,
  message: ConsumeMessage,
  acknowledgment: Acknowledgment,
): void {
  try {
    if (acknowledgment === 'ack') channel.ack(message);
    else channel.nack(message, false, acknowledgment === 'requeue');
  } catch (error) {
    logger.warn(`${acknowledgment} after the channel closed; the broker will redeliver: ${String(error)}`);
  }
}

/**
 * Acknowledges the deliveries of one channel with as few frames as possible. Acks of one turn are sent at its end; a
 * single `multiple` covers everything up to the lowest unacknowledged delivery. A quorum queue writes each ack to its log,
 * and a batch has 100 of them.
 */
export class GatheredAcks {
  /** In the order of delivery, which is the order of the tags. */
  private readonly unacknowledged = new Set<number>();
  private gathered: ConsumeMessage[] = [];

  constructor(private readonly channel: Channel) {}

  /** Must be called for every delivery of the channel, or a `multiple` would acknowledge it by accident. */
  delivered({ fields }: ConsumeMessage): void {
    this.unacknowledged.add(fields.deliveryTag);
  }

  ack(message: ConsumeMessage): void {
    this.unacknowledged.delete(message.fields.deliveryTag);
    if (this.gathered.push(message) === 1) queueMicrotask(() => this.flush());
  }

  /** @throws IllegalOperationError if the channel has closed. */
  nack(message: ConsumeMessage, allUpTo: false, requeue: boolean): void {
    this.unacknowledged.delete(message.fields.deliveryTag);
    this.channel.nack(message, allUpTo, requeue);
  }

  flush(): void {
    const messages = this.gathered;
    this.gathered = [];
    const [lowest = Infinity] = this.unacknowledged;
    const together = messages.filter(({ fields }) => fields.deliveryTag < lowest);
    try {
      const last = together.reduce<ConsumeMessage | undefined>(later, undefined);
      if (last) this.channel.ack(last, together.length > 1);
      for (const message of messages) if (message.fields.deliveryTag > lowest) this.channel.ack(message);
    } catch (error) {
      logger.warn(`ack after the channel closed; the broker will redeliver ${messages.length}: ${String(error)}`);
    }
  }
}

function later(one: ConsumeMessage | undefined, other: ConsumeMessage): ConsumeMessage {
  return one && one.fields.deliveryTag > other.fields.deliveryTag ? one : other;
}

/** Why a message is parked: a stable code, and a sentence with the values. */
export interface ParkReason {
  readonly code: string;
  readonly reason: string;
  /** The values for programs. They are sent to the sender of the command, if it wants an answer. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** A mistake on our side. The sender is not told the reason, and the message is parked even if the sender is answered. */
  readonly isFault?: boolean;
}

import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, type ConsumeMessage } from 'amqplib';
import { type Clock, withTimeout } from '../clock';
import { Delivery } from './delivery';
import { GatheredAcks } from './gathered-acks';
import { KeptChannel } from './kept-channel';
import { QueueUnavailableError } from './queue-unavailable-error';
import { type RabbitConnection } from './rabbit-connection';

interface ConsumerDependencies {
  readonly queue: string;
  readonly prefetch: number;
  /** Declares the queue and what it hangs on. */
  prepare(channel: Channel, model: ChannelModel): Promise<void>;
  /** Takes a delivery over; whoever takes it settles it. Must not throw. */
  onDelivery(delivery: Delivery): void;
  /** Whether the queue serves consumers, asked without risk to this connection. Must not reject. */
  serves(): Promise<boolean>;
}

/** Consuming takes milliseconds; a quorum queue without a leader does not answer at all. */
const CONSUME_MS = 10_000;
/** A broker that does not answer must not hold up a pause or a shutdown. */
const CANCEL_MS = 2_000;

/** Consumes one queue with manual acknowledgement, and goes on doing so after reconnects and broker cancels. */
export class ManualAckConsumer {
  private readonly kept: KeptChannel<Channel>;
  private readonly unsettled = new Set<Delivery>();
  private readonly stopping = new AbortController();
  private consumerTag: string | undefined;
  private acks: { readonly channel: Channel; readonly of: GatheredAcks } | undefined;
  private isSuspended = false;
  /** The queue did not let us consume; another try on the shared connection could cost all consumers theirs. */
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

  /** Deliveries come. */
  get isConsuming(): boolean {
    return this.isOpen && !this.isSuspended;
  }

  /** Deliveries come, or would come if it were not suspended. */
  get isOpen(): boolean {
    return this.kept.channel !== undefined && !this.isStopped;
  }

  /** Aborts when it is stopped. */
  get stopped(): AbortSignal {
    return this.stopping.signal;
  }

  get unsettledCount(): number {
    return this.unsettled.size;
  }

  /** Stops deliveries until `resume`, e.g. while the database is away. Unsettled deliveries stay with their takers. */
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

  /** No more deliveries, for good. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.cancel();
  }

  /** Resolves when every delivery is settled, or after `ms`. */
  async whenSettled(ms: number): Promise<void> {
    if (this.unsettled.size === 0) return;
    await withTimeout(this.clock, ms, new Promise<void>((resolve) => this.drained.push(resolve)), undefined);
  }

  /** Gives back what nobody settled, and closes the channel; waits at most `ms` for the broker's answer. */
  async close(ms?: number): Promise<void> {
    for (const delivery of [...this.unsettled]) delivery.settle('requeue');
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
    // Chosen here and known at once, so that a cancel can follow before the answer to consume is there.
    const consumerTag = randomUUID();
    this.consumerTag = consumerTag;
    const consuming = channel.consume(this.deps.queue, onMessage, { noAck: false, consumerTag }).then(() => true);
    if (!(await withTimeout(this.clock, CONSUME_MS, consuming, false))) {
      this.isUnavailable = true;
      throw new QueueUnavailableError(this.deps.queue, CONSUME_MS);
    }
    // Stopped or suspended while the channel was still being opened, where cancel() could not reach it.
    if (this.isStopped || this.isSuspended) await channel.cancel(consumerTag);
  }

  private received(channel: Channel, acks: GatheredAcks, message: ConsumeMessage | null): void {
    // null: the broker cancelled the consumer, because the queue was deleted or its leader moved.
    if (message === null) return void this.kept.reset(channel);
    acks.delivered(message);
    const delivery = new Delivery(message, acks, (settled) => this.settled(settled), this.clock.monotonic());
    this.unsettled.add(delivery);
    if (this.isStopped) return delivery.settle('requeue');
    this.deps.onDelivery(delivery);
  }

  /** One for the life of a channel, however often it is suspended: they must know of all its deliveries. */
  private acksOf(channel: Channel): GatheredAcks {
    if (this.acks?.channel !== channel) this.acks = { channel, of: new GatheredAcks(channel) };
    return this.acks.of;
  }

  private settled(delivery: Delivery): void {
    this.unsettled.delete(delivery);
    if (this.unsettled.size === 0) this.tellDrained();
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
    for (const delivery of this.unsettled) delivery.forget();
    this.unsettled.clear();
    this.tellDrained();
  }

  private tellDrained(): void {
    for (const resolve of this.drained.splice(0)) resolve();
  }
}

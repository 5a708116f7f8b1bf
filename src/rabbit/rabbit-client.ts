import { type Channel, type ChannelModel, connect } from 'amqplib';
import { type Clock, inTime, PollingLoop, withTimeout } from '../clock';
import { ConfirmedPublisher } from './confirmed-publisher';
import { ACCESS_REFUSED, BrokerInspection, NOT_FOUND, onChannel } from './broker-inspection';
import { declareBase } from './declare-topology';
import { type Delivery, type ParkReason, ManualAckConsumer } from './consumer';
import { LoginRefusals, RabbitConnection, endConnection } from './rabbit-connection';
import { ParkedQueue } from './parked';
import { type ResolvedRabbitOptions } from './rabbit-options';
import { ReplySender } from './reply-sender';
import { TopologyNames } from './topology';

type Declare = (channel: Channel, model: ChannelModel) => Promise<void>;

interface ConsumeRequest {
  readonly queue: string;
  readonly prefetch: number;
  /** Declares the queue before it is consumed. Runs after the base topology. */
  declare(channel: Channel): Promise<void>;
  readonly onDelivery: (delivery: Delivery) => void;
}

/** Limit for the broker's answer to each close, once all work is finished. */
const CLOSE_MS = 700;
/** The same for a temporary connection. */
const TEMPORARY_CLOSE_MS = 1_000;

/** For this long, somebody else's publisher may miss an exchange that this service only consumes from. */
const UPKEEP_MS = 60_000;

const UNREADABLE_HEADERS: ParkReason = {
  code: 'UNREADABLE_HEADERS',
  reason:
    'the headers cannot be decoded, for example because they are nested thousands of levels deep; they were dropped',
};

/**
 * All communication with the broker, on four connections. One consumes, because a broker that blocks publishers stops
 * reading the whole connection, including acknowledgments. Wake-ups have their own, because their transport may close
 * it or slow it down for one failing queue, and answers, because a sender's `reply_to` may close it: neither must stop
 * events and parked messages.
 */
export class RabbitClient {
  readonly names: TopologyNames;
  /** For everything except wake-ups. Needs the base topology only. */
  readonly publisher: ConfirmedPublisher;
  /** For wake-ups. Needs their transport, too. */
  readonly wakeUpPublisher: ConfirmedPublisher;
  readonly parked: ParkedQueue;
  readonly replies: ReplySender;
  private readonly replyPublisher: ConfirmedPublisher;
  private readonly publishing: RabbitConnection;
  private readonly waking: RabbitConnection;
  /** Opened by the first answer. */
  private readonly answering: RabbitConnection;
  private readonly consuming: RabbitConnection;
  private readonly consumers: ManualAckConsumer[] = [];
  private readonly requests: ConsumeRequest[] = [];
  private readonly beforeWakeUps: Declare[] = [];
  private readonly upkeep: PollingLoop;
  /** Connections on which the exchanges were declared. */
  private readonly declared = new WeakSet<ChannelModel>();

  constructor(
    readonly options: ResolvedRabbitOptions,
    private readonly clock: Clock,
  ) {
    this.names = new TopologyNames(options.prefix);
    const refusals = new LoginRefusals(clock);
    this.publishing = new RabbitConnection(options, 'publish', clock, refusals);
    this.waking = new RabbitConnection(options, 'wake-up', clock, refusals);
    this.answering = new RabbitConnection(options, 'answer', clock, refusals);
    this.consuming = new RabbitConnection(options, 'consume', clock, refusals);
    const declare = (connection: RabbitConnection) => this.declare(connection, this.beforeWakeUps);
    this.publisher = this.publisherOn(this.publishing, (connection) => this.declare(connection, []));
    this.wakeUpPublisher = this.publisherOn(this.waking, declare);
    this.parked = new ParkedQueue(this.publisher, this.names, clock, () => this.declare(this.publishing, []));
    this.replyPublisher = this.publisherOn(this.answering, () => Promise.resolve());
    const answers = {
      start: () => this.answering.start(),
      publisher: this.replyPublisher,
      isThere: (queue: string) => queueExists(this.answering.model, queue),
    };
    this.replies = new ReplySender(answers, this.names, options.replyPrefixes, clock);
    const runOnce = (): Promise<void> => this.declareAgain();
    this.upkeep = new PollingLoop(clock, { name: 'topology', runOnce, intervalMs: UPKEEP_MS });
  }

  /** False: there is no broker, and none is ever connected to. */
  get isConfigured(): boolean {
    return this.options.urls.length > 0;
  }

  /** Starts connecting and returns immediately, because the broker may be down. */
  start(): void {
    if (!this.isConfigured) return;
    this.publishing.start();
    // Without declarations, no wake-ups are published.
    if (this.beforeWakeUps.length > 0) this.waking.start();
    this.consuming.start();
    this.upkeep.start();
  }

  /** Runs before the first wake-up of every connection. Register it before `start`. */
  declareBeforeWakeUps(declare: Declare): void {
    this.beforeWakeUps.push(declare);
  }

  consume(request: ConsumeRequest): ManualAckConsumer {
    const consumer = new ManualAckConsumer(this.consuming, this.clock, {
      queue: request.queue,
      prefetch: request.prefetch,
      serves: () => queueServes(this.clock, () => this.temporaryConnection(), request.queue),
      onDelivery: request.onDelivery,
      onUnreadable: (delivery) => void this.parked.park(delivery, UNREADABLE_HEADERS),
      prepare: async (channel, model) => {
        await this.declareBase(model, channel);
        await request.declare(channel);
      },
    });
    this.consumers.push(consumer);
    this.requests.push(request);
    return consumer;
  }

  /** Messages flow both ways: they can be published, and each consumer consumes or is suspended on purpose. */
  get isUp(): boolean {
    return this.publisher.isReady && this.consumers.every((consumer) => consumer.isOpen);
  }

  /** A separate connection that the caller must close. For requests that may close their connection. */
  async temporaryConnection(): Promise<ChannelModel> {
    let failure: unknown = new Error('no RabbitMQ URL is configured');
    for (const url of this.options.urls) {
      try {
        const connection = await connect(url, { timeout: 5_000, noDelay: true });
        connection.on('error', () => undefined);
        return connection;
      } catch (error) {
        // The next node of the cluster may be up.
        failure = error;
      }
    }
    throw failure;
  }

  /**
   * Runs `work` on such a connection, and ends it.
   *
   * @param ms how long the broker may take to answer. @default no limit
   * @throws what `work` throws, or an error when the broker did not answer in time.
   */
  async onTemporaryConnection<T>(work: (connection: ChannelModel) => Promise<T>, ms?: number): Promise<T> {
    const connection = await this.temporaryConnection();
    const late = (): Error => new Error(`the broker did not answer within ${ms} ms`);
    const limited = () => (ms === undefined ? work(connection) : inTime(this.clock, ms, work(connection), late));
    return this.endAfter(connection, limited);
  }

  /** A broker that is frozen or has an alarm closes no connection, and an open one would keep the process alive. */
  async endAfter<T>(connection: ChannelModel, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      const closing = Promise.resolve().then(() => connection.close());
      await endConnection(this.clock, connection, closing, TEMPORARY_CLOSE_MS);
    }
  }

  /** Stops deliveries. Receivers keep their unacknowledged deliveries. */
  async stopConsuming(): Promise<void> {
    await Promise.all(this.consumers.map((consumer) => consumer.stop()));
  }

  /** Waits for the receivers for at most `ms`, then requeues the rest. Returns how many deliveries those were. */
  async drain(ms: number): Promise<number> {
    await Promise.all(this.consumers.map((consumer) => consumer.whenAcknowledged(ms)));
    const rest = this.consumers.reduce((sum, consumer) => sum + consumer.unacknowledgedCount, 0);
    await Promise.all(this.consumers.map((consumer) => consumer.close(CLOSE_MS)));
    return rest;
  }

  /** Waits for open confirms for at most `ms`. A broker that does not respond adds two seconds. */
  async close(ms = this.options.confirmTimeoutMs): Promise<void> {
    // Not awaited: a broker that does not respond keeps it until the connection is closed.
    void this.upkeep.stop();
    const publishers = [this.publisher, this.replyPublisher, this.wakeUpPublisher];
    await Promise.all(publishers.map((publisher) => publisher.close(ms, CLOSE_MS)));
    const connections = [this.publishing, this.waking, this.answering, this.consuming];
    await Promise.all(connections.map((connection) => connection.close(CLOSE_MS)));
  }

  private publisherOn(
    connection: RabbitConnection,
    prepare: (connection: RabbitConnection) => Promise<void>,
  ): ConfirmedPublisher {
    return new ConfirmedPublisher(connection, this.clock, {
      window: this.options.publishWindow,
      confirmTimeoutMs: this.options.confirmTimeoutMs,
      prepare,
    });
  }

  private async declare({ model }: RabbitConnection, declares: readonly Declare[]): Promise<void> {
    if (!model) throw new Error('the connection closed again');
    const channel = await model.createChannel();
    let refusal: Error | undefined;
    channel.on('error', (error: Error) => (refusal = error));
    try {
      await this.declareBase(model, channel);
      for (const declare of declares) await declare(channel, model);
    } catch (error) {
      // A later request on the channel may fail first, and knows only that the channel has ended.
      throw refusal ?? error;
    } finally {
      await channel.close().catch(() => undefined);
    }
  }

  /**
   * Exchanges that somebody has deleted while no connection was lost. Only a process that consumes can bind what leads to
   * its queues. A refusal is logged when a connection opens.
   */
  private async declareAgain(): Promise<void> {
    if (this.publisher.isReady && this.requests.length > 0)
      await this.declare(this.publishing, []).catch(() => undefined);
  }

  /** Queues whose consumers go on do not notice that their exchange, and with it their binding, was deleted. */
  private async declareBase(model: ChannelModel, channel: Channel): Promise<void> {
    const lost = await declareBase(model, channel, this.names, this.options, this.declared.has(model));
    this.declared.add(model);
    if (lost.length > 0) for (const request of this.requests) await onChannel(model, (own) => request.declare(own));
  }
}

async function queueExists(model: ChannelModel | undefined, queue: string): Promise<boolean> {
  const found = model && (await new BrokerInspection(model).queue(queue).catch(() => undefined));
  return found !== undefined;
}

/** A message arrives within milliseconds, and so does the answer that the queue is empty. */
const ANSWER_MS = 10_000;

/**
 * Whether a queue serves its consumers. Uses its own connection: a quorum queue without a leader does not answer, and
 * after 65 s the broker closes the whole connection with 541 (3.10.8). A message that was read returns to the queue
 * when the connection closes. Never rejects.
 */
async function queueServes(clock: Clock, open: () => Promise<ChannelModel>, queue: string): Promise<boolean> {
  const model = await open().catch(() => undefined);
  // Without a connection to ask on, for example because they are limited, nothing speaks against the queue.
  if (!model) return true;
  const asked = onChannel(model, (channel) => channel.get(queue)).then(() => true, isNoSilence);
  const serves = await withTimeout(clock, ANSWER_MS, asked, false);
  await endConnection(clock, model, model.close(), TEMPORARY_CLOSE_MS);
  return serves;
}

/** Its consumer declares what is not there, and is told what it may not. */
function isNoSilence(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === NOT_FOUND || code === ACCESS_REFUSED;
}

import { randomUUID } from 'node:crypto';
import { connect, type ConsumeMessage } from 'amqplib';
import { SystemClock } from '../../../src/clock';
import { type DelayTransport } from '../../../src/delay';
import { DueBuffer } from '../../../src/timeouts/engine/received-wake-ups';
import { type DelayRoute } from '../../../src/delay/delay-transport';
import {
  declareBase,
  declareWorkQueue,
  resolveRabbitOptions,
  TopologyNames,
  type ChannelModel,
  type ConfirmChannel,
} from '../../../src/rabbit';
import { acknowledge } from '../../../src/rabbit/consumer';
import { withoutTransportHeaders } from '../../../src/rabbit/parked';
import { stretched } from '../../support/machine-load';

export const KINDS = ['order.payment', 'payment'] as const;
export type Kind = (typeof KINDS)[number];

/** A wake-up that was handled, and its path. */
export interface Handled {
  readonly id: string;
  readonly kind: string;
  readonly dueAtMs: number;
  readonly handledAtMs: number;
  readonly deliveries: number;
  readonly headers: Record<string, unknown>;
}

interface RigOptions {
  /** Longer delays are published in parts, as the engine does with its horizon. */
  readonly horizonMs?: number;
  readonly queueType?: 'quorum' | 'classic';
  /** Separates rigs on one vhost. */
  readonly prefix?: string;
}

interface Wake {
  readonly id: string;
  readonly kind: string;
  readonly dueAtMs: number;
  readonly deliveries: number;
  readonly headers: Record<string, unknown>;
  readonly done: () => void;
}

const clock = new SystemClock();
/** One clock for due times and handling times, with fractions: "never early" is compared exactly. */
export const nowMs = (): number => performance.timeOrigin + performance.now();

/**
 * A delay transport as the engine uses it, without a database: publishes, and consumes with manual acknowledgment. It
 * keeps wake-ups that are nearly due and publishes the others with a new delay. With `none`, it keeps all of them.
 */
export class DelayRig {
  readonly handled: Handled[] = [];
  readonly returned: string[] = [];
  /** All deliveries from work queues, whether they were handled or delayed again. */
  deliveryCount = 0;
  private readonly waiters: (() => void)[] = [];
  private readonly closing = new AbortController();
  private readonly hold = new DueBuffer<Wake>(clock, {
    nowMs,
    onDue: (wakes) => wakes.forEach((wake) => this.handle(wake)),
  });

  private constructor(
    readonly names: TopologyNames,
    readonly transport: DelayTransport,
    private readonly options: RigOptions,
    readonly connection: ChannelModel,
    readonly channel: ConfirmChannel,
  ) {}

  /** @param broker its URL, or what connects to it */
  static async open(
    broker: string | (() => Promise<ChannelModel>),
    transportOf: (names: TopologyNames) => DelayTransport,
    options: RigOptions = {},
  ): Promise<DelayRig> {
    const names = new TopologyNames(options.prefix ?? 'order-timeout.v1');
    const connection = await (typeof broker === 'string' ? connect(broker) : broker());
    connection.on('error', () => undefined);
    const channel = await connection.createConfirmChannel();
    channel.on('error', () => undefined);
    const rig = new DelayRig(names, transportOf(names), options, connection, channel);
    channel.on('return', ({ properties }) => rig.returned.push(String(properties.messageId)));
    await rig.prepare();
    return rig;
  }

  /** Schedules one wake-up and resolves to its id once the broker has confirmed it. */
  async wake(kind: string, delayMs: number, headers: Record<string, unknown> = {}): Promise<string> {
    const wake = { id: randomUUID(), kind, dueAtMs: nowMs() + delayMs, deliveries: 0, headers, done: () => undefined };
    if (this.transport.name === 'none') this.hold.add(wake, wake.dueAtMs);
    else await this.publish(wake);
    return wake.id;
  }

  /** Publishes to the given route, for example for a kind without a handler. */
  async send(route: DelayRoute, id: string, headers: Record<string, unknown> = {}): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const options = {
        persistent: true,
        messageId: id,
        mandatory: route.mandatory,
        headers: { ...headers, ...route.headers },
      };
      this.channel.publish(route.exchange, route.routingKey, Buffer.from('{}'), options, (error?: Error) =>
        error ? reject(error) : resolve(),
      );
    });
  }

  /** Resolves when `count` wake-ups were handled, or after `ms`. The assertion then shows which are missing. */
  handles(count: number, ms?: number): Promise<Handled[]> {
    return this.until(() => this.handled.length >= count, ms);
  }

  /** Resolves when each of these was handled, or after `ms`. */
  handlesEach(ids: readonly string[], ms?: number): Promise<Handled[]> {
    const isHandled = (id: string): boolean => this.handled.some((handled) => handled.id === id);
    return this.until(() => ids.every(isHandled), ms);
  }

  private async until(isEnough: () => boolean, ms = 15_000): Promise<Handled[]> {
    const giveUp = new AbortController();
    const limit = clock.sleep(stretched(ms), AbortSignal.any([giveUp.signal, this.closing.signal])).then(() => true);
    for (let isOver = false; !isEnough() && !isOver;) {
      isOver = await Promise.race([limit, new Promise<boolean>((resolve) => this.waiters.push(() => resolve(false)))]);
    }
    giveUp.abort();
    return this.handled;
  }

  /** Takes all messages from the parked queue and waits until `count` have arrived. Returns the ids in order. */
  async takeParked(count: number, ms = 10_000): Promise<string[]> {
    const ids: string[] = [];
    for (const endMs = nowMs() + stretched(ms); ids.length < count && nowMs() < endMs;) {
      const message = await this.channel.get(this.names.parked, { noAck: true });
      if (message) ids.push(String(message.properties.messageId));
      else await clock.sleep(20);
    }
    return ids;
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.hold.drain();
    // Close the channel first: closing the connection can overtake the last acknowledgments.
    await this.channel.close().catch(() => undefined);
    await this.connection.close().catch(() => undefined);
  }

  private async prepare(): Promise<void> {
    const options = resolveRabbitOptions({ urls: [], queueType: this.options.queueType ?? 'quorum' });
    await declareBase(this.connection, this.channel, this.names, options);
    await this.transport.declare(this.channel);
    await this.channel.prefetch(2_000);
    for (const kind of KINDS) {
      const queue = await declareWorkQueue(this.channel, this.names, options, kind);
      await this.transport.bindKind(this.channel, kind, queue);
      await this.channel.consume(queue, (message) => message && this.received(message));
    }
  }

  private async publish(wake: Omit<Wake, 'done'>): Promise<void> {
    const delayMs = Math.min(wake.dueAtMs - nowMs(), this.options.horizonMs ?? Infinity);
    const own = { 'x-ot-due-at': String(wake.dueAtMs), 'x-ot-deliveries': wake.deliveries };
    await this.send(this.transport.route(wake.kind, delayMs), wake.id, {
      ...withoutTransportHeaders(wake.headers),
      ...own,
    });
  }

  private received(message: ConsumeMessage): void {
    this.deliveryCount++;
    const headers = message.properties.headers ?? {};
    const wake: Wake = {
      id: String(message.properties.messageId),
      kind: message.fields.routingKey.endsWith('order.payment') ? 'order.payment' : 'payment',
      dueAtMs: Number(headers['x-ot-due-at']),
      deliveries: Number(headers['x-ot-deliveries']) + 1,
      headers,
      done: () => acknowledge(this.channel, message, 'ack'),
    };
    if (wake.dueAtMs - nowMs() <= this.transport.maxEarlyMs) this.hold.add(wake, wake.dueAtMs);
    else void this.publish(wake).then(wake.done, () => acknowledge(this.channel, message, 'requeue'));
  }

  private handle({ id, kind, dueAtMs, deliveries, headers, done }: Wake): void {
    done();
    this.handled.push({ id, kind, dueAtMs, handledAtMs: nowMs(), deliveries, headers });
    for (const wake of this.waiters.splice(0)) wake();
  }
}

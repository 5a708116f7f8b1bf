import { EventEmitter } from 'node:events';
import { IllegalOperationError } from 'amqplib';
import { BrokerRefusal, type Consumer, type Message, type Queue, type SimulatedBroker } from './simulated-broker';
import { acting, type Actor } from './virtual-time';

class FakeStream extends EventEmitter {
  closed = false;

  destroy(): void {
    this.closed = true;
    this.emit('close');
  }
}

export class SimulatedConnection extends EventEmitter {
  readonly connection = { serverProperties: { version: '4.1.0' }, stream: new FakeStream() };
  readonly channels = new Set<SimulatedChannel>();
  isOpen = true;

  constructor(
    readonly broker: SimulatedBroker,
    readonly name: string,
    readonly actor: Actor | undefined,
  ) {
    super();
  }

  override emit(name: string, ...given: unknown[]): boolean {
    return heardBy(this.actor, () => super.emit(name, ...given));
  }

  async createChannel(): Promise<SimulatedChannel> {
    return this.newChannel();
  }

  async createConfirmChannel(): Promise<SimulatedChannel> {
    return this.newChannel();
  }

  private async newChannel(): Promise<SimulatedChannel> {
    if (!this.isOpen) throw new IllegalOperationError('Connection closed', '');
    const channel = new SimulatedChannel(this);
    this.channels.add(channel);
    return channel;
  }

  async close(): Promise<void> {
    if (!this.isOpen) throw new IllegalOperationError('Connection closed', '');
    await this.broker.kernel.turn(`broker: ${this.name} closes`);
    this.end();
    this.emit('close');
  }

  /** Something that the broker does for it. Nobody else's crash prevents it. */
  step(label: string, run: () => void): void {
    heardBy(this.actor, () => this.broker.kernel.step(`broker: ${this.name} ${label}`, run));
  }

  /** As when the network is gone. */
  break(): void {
    if (!this.isOpen) return;
    this.end();
    const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    if (this.listenerCount('error') > 0) this.emit('error', error);
    this.emit('close', error);
  }

  end(): void {
    this.isOpen = false;
    this.broker.connections.delete(this);
    this.connection.stream.closed = true;
    for (const channel of this.channels) channel.end();
    this.connection.stream.emit('close');
  }
}

interface Op {
  readonly label: string;
  readonly isQuick: boolean;
  readonly run: () => unknown;
  readonly done: (error: Error | undefined, value?: unknown) => void;
}

export class SimulatedChannel extends EventEmitter {
  isOpen = true;
  private readonly ops: Op[] = [];
  private isScheduled = false;
  private tags = 0;
  private limit = Infinity;
  /** What is on its way to the consumers. */
  private readonly arriving: (() => void)[] = [];
  private readonly unacked = new Map<
    number,
    { readonly consumer: Consumer | undefined; readonly queue: Queue; readonly message: Message }
  >();
  private readonly consumers = new Map<string, Consumer>();

  constructor(private readonly connection: SimulatedConnection) {
    super();
  }

  override emit(name: string, ...given: unknown[]): boolean {
    return heardBy(this.connection.actor, () => super.emit(name, ...given));
  }

  private get broker(): SimulatedBroker {
    return this.connection.broker;
  }

  get hasRoom(): boolean {
    return this.isOpen && this.unacked.size < this.limit;
  }

  private ask<T>(label: string, run: () => T, isQuick = true): Promise<T> {
    if (!this.isOpen) throw new IllegalOperationError('Channel closed', '');
    return new Promise((resolve, reject) => {
      this.ops.push({
        label,
        isQuick,
        run,
        done: (error, value) => (error ? reject(error) : resolve(value as T)),
      });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled || this.ops.length === 0) return;
    this.isScheduled = true;
    this.connection.step(this.ops[0]?.label ?? '', () => {
      this.isScheduled = false;
      let op = this.ops.shift();
      while (op) {
        this.perform(op);
        op = op.isQuick && this.ops[0]?.isQuick === true ? this.ops.shift() : undefined;
      }
      this.schedule();
    });
  }

  private perform(op: Op): void {
    if (!this.isOpen) return;
    try {
      const { kernel, breaking } = this.broker;
      if (op.isQuick || !kernel.random.chance(breaking)) return op.done(undefined, op.run());
      // It is done, or not, and nobody is told.
      if (kernel.random.chance(0.5)) op.run();
      this.ops.unshift(op);
      this.connection.break();
    } catch (error) {
      op.done(error as Error);
      this.end();
      this.emit('error', error);
      this.emit('close');
    }
  }

  assertExchange(name: string, type: string, options?: Record<string, unknown>): Promise<unknown> {
    return this.ask('declares', () => (this.broker.assertExchange(name, type, options), { exchange: name }));
  }

  checkExchange(name: string): Promise<unknown> {
    return this.ask('checks', () => {
      if (!this.broker.exchanges.has(name))
        throw new BrokerRefusal(404, `NOT_FOUND - no exchange '${name}' in vhost '/'`);
    });
  }

  deleteExchange(name: string): Promise<unknown> {
    return this.ask('deletes', () => void this.broker.exchanges.delete(name));
  }

  assertQueue(name: string, options?: Record<string, unknown>): Promise<unknown> {
    return this.ask('declares', () => {
      this.broker.assertQueue(name, options);
      const queue = this.queueOf(name);
      return { queue: name, messageCount: queue.messages.length, consumerCount: queue.consumers.length };
    });
  }

  checkQueue(name: string): Promise<unknown> {
    return this.ask('checks', () => {
      const queue = this.queueOf(name);
      return { queue: name, messageCount: queue.messages.length, consumerCount: queue.consumers.length };
    });
  }

  bindQueue(queue: string, source: string, key: string): Promise<unknown> {
    return this.ask('binds', () => this.broker.bind(source, queue, false, key));
  }

  bindExchange(destination: string, source: string, key: string): Promise<unknown> {
    return this.ask('binds', () => this.broker.bind(source, destination, true, key));
  }

  prefetch(count: number): Promise<unknown> {
    return this.ask('prefetch', () => void (this.limit = count));
  }

  consume(
    name: string,
    deliver: (message: unknown) => void,
    options: { noAck?: boolean; consumerTag?: string } = {},
  ): Promise<unknown> {
    return this.ask('consumes', () => {
      const queue = this.queueOf(name);
      const consumer: Consumer = {
        tag: options.consumerTag ?? `tag-${++this.tags}`,
        channel: this,
        queue,
        noAck: options.noAck ?? false,
        deliver,
      };
      this.consumers.set(consumer.tag, consumer);
      queue.consumers.push(consumer);
      this.broker.offer(queue);
      return { consumerTag: consumer.tag };
    });
  }

  cancel(tag: string): Promise<unknown> {
    return this.ask('cancels', () => this.removeConsumer(tag));
  }

  get(name: string): Promise<unknown> {
    return this.ask('gets', () => {
      const queue = this.queueOf(name);
      const message = queue.messages.shift();
      if (!message) return false;
      return this.handedOut(queue, message, undefined);
    });
  }

  publish(
    exchange: string,
    key: string,
    content: Buffer,
    options: Record<string, unknown>,
    confirmed?: (error: unknown) => void,
  ): boolean {
    void this.ask(
      `publishes to ${exchange} ${key}`,
      () => {
        if (exchange !== '' && !this.broker.exchanges.has(exchange))
          throw new BrokerRefusal(404, `NOT_FOUND - no exchange '${exchange}' in vhost '/'`);
        const isRouted = this.broker.publish(exchange, key, content, options);
        if (!isRouted && options.mandatory === true)
          this.emit('return', { properties: options, fields: { routingKey: key }, content });
        confirmed?.(null);
      },
      false,
    ).catch((error: unknown) => confirmed?.(error));
    return true;
  }

  deliver(consumer: Consumer, message: Message): void {
    const delivery = this.handedOut(consumer.queue, message, consumer);
    this.arriving.push(() => {
      if (this.isOpen && this.consumers.has(consumer.tag)) consumer.deliver(delivery);
    });
    // Deliveries do not overtake each other on a channel.
    this.connection.step(`gets a message of ${consumer.queue.name}`, () => this.arriving.shift()?.());
  }

  private handedOut(queue: Queue, message: Message, consumer: Consumer | undefined): unknown {
    const deliveryTag = ++this.tags;
    if (!consumer?.noAck) this.unacked.set(deliveryTag, { consumer, queue, message });
    const headers = { ...message.properties.headers };
    if (queue.isQuorum && message.deliveries > 0) headers['x-delivery-count'] = message.deliveries;
    return {
      content: message.content,
      fields: {
        deliveryTag,
        redelivered: message.redelivered,
        exchange: message.exchange,
        routingKey: message.routingKey,
        consumerTag: consumer?.tag,
      },
      properties: { ...message.properties, headers },
    };
  }

  ack({ fields }: { fields: { deliveryTag: number } }, allUpTo = false): void {
    void this.ask('acks', () => this.settle(fields.deliveryTag, allUpTo, () => undefined), false).catch(
      () => undefined,
    );
  }

  nack({ fields }: { fields: { deliveryTag: number } }, allUpTo = false, requeue = true): void {
    void this.ask(
      requeue ? 'requeues' : 'dead-letters',
      () =>
        this.settle(fields.deliveryTag, allUpTo, (queue, message) =>
          requeue ? this.giveBack(queue, message) : this.broker.deadLetter(queue, message),
        ),
      false,
    ).catch(() => undefined);
  }

  private settle(tag: number, allUpTo: boolean, what: (queue: Queue, message: Message) => void): void {
    const tags = allUpTo ? [...this.unacked.keys()].filter((one) => one <= tag) : [tag];
    for (const one of tags) {
      const entry = this.unacked.get(one);
      if (!entry) throw new BrokerRefusal(406, `PRECONDITION_FAILED - unknown delivery tag ${one}`);
      this.unacked.delete(one);
      what(entry.queue, entry.message);
    }
    for (const { queue } of this.consumers.values()) this.broker.offer(queue);
  }

  private giveBack(queue: Queue, message: Message): void {
    message.redelivered = true;
    message.deliveries += 1;
    const limit = queue.args['x-delivery-limit'];
    if (queue.isQuorum && typeof limit === 'number' && message.deliveries > limit)
      this.broker.deadLetter(queue, message);
    else this.broker.enqueue(queue, message, true);
  }

  private queueOf(name: string): Queue {
    const queue = this.broker.queues.get(name);
    if (!queue) throw new BrokerRefusal(404, `NOT_FOUND - no queue '${name}' in vhost '/'`);
    return queue;
  }

  private removeConsumer(tag: string): void {
    const consumer = this.consumers.get(tag);
    if (!consumer) return;
    this.consumers.delete(tag);
    const at = consumer.queue.consumers.indexOf(consumer);
    if (at >= 0) consumer.queue.consumers.splice(at, 1);
  }

  async waitForConfirms(): Promise<void> {
    await this.ask('waits', () => undefined);
  }

  async close(): Promise<void> {
    await this.ask('closes', () => undefined);
    this.end();
    this.emit('close');
  }

  end(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    for (const tag of [...this.consumers.keys()]) this.removeConsumer(tag);
    const rest = [...this.unacked.values()].reverse();
    this.unacked.clear();
    for (const { queue, message } of rest) this.giveBack(queue, message);
    const ended = new IllegalOperationError('Channel ended, no reply will be forthcoming', '');
    for (const { done } of this.ops.splice(0)) heardBy(this.connection.actor, () => done(ended));
    if (this.connection.isOpen) return;
    this.emit('close');
  }
}

/** Listeners run as whose connection it is. One that has crashed hears nothing. */
function heardBy(actor: Actor | undefined, tell: () => unknown): boolean {
  if (actor?.isAlive === false) return false;
  if (actor) acting.run(actor, tell);
  else tell();
  return true;
}

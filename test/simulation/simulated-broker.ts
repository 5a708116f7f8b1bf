import { createRequire } from 'node:module';
import { acting, type Actor, type VirtualTime } from './virtual-time';
import { type Random } from '../model/random';
import { EventListener } from '../support/events/event-listener';
import { type Kernel } from './kernel';
import { type SimulatedChannel, SimulatedConnection } from './simulated-connection';

export interface Message {
  readonly exchange: string;
  readonly routingKey: string;
  readonly content: Buffer;
  readonly properties: Record<string, unknown> & { headers: Record<string, unknown> };
  deliveries: number;
  redelivered: boolean;
}

interface Exchange {
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly bindings: { readonly to: string; readonly isExchange: boolean; readonly key: string }[];
}

export interface Queue {
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly messages: Message[];
  readonly consumers: Consumer[];
  readonly isQuorum: boolean;
}

export interface Consumer {
  readonly tag: string;
  readonly channel: SimulatedChannel;
  readonly queue: Queue;
  readonly noAck: boolean;
  readonly deliver: (message: unknown) => void;
}

/** The broker closes the channel. */
export class BrokerRefusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(`Operation failed: ${code} (${message})`);
  }
}

/** Who decides what happens next, and when. */
export interface BrokerKernel extends Pick<Kernel, 'random' | 'say' | 'step' | 'turn'> {
  readonly time: Pick<VirtualTime, 'now' | 'after'>;
}

interface ConnectOptions {
  readonly clientProperties?: { readonly connection_name?: string };
}

/** RabbitMQ as the service sees it: what exchanges, queues, and channels promise, and the liberties that they leave. */
export class SimulatedBroker {
  readonly exchanges = new Map<string, Exchange>();
  readonly queues = new Map<string, Queue>();
  readonly connections = new Set<SimulatedConnection>();
  /** Hears all events. */
  readonly listener = new EventListener();
  /** How much of what waits for its time is lost, of 1. */
  losing = 0;
  /** How often a connection breaks when it publishes, of 1. */
  breaking = 0;
  private absentUntil = 0;

  constructor(
    readonly kernel: BrokerKernel,
    private readonly hasPlugin: boolean,
  ) {}

  /** From now on, amqplib connects to it. */
  install(): void {
    const connect = (_url: unknown, { clientProperties }: ConnectOptions = {}): Promise<SimulatedConnection> =>
      this.connect(clientProperties?.connection_name ?? 'aside');
    // The module's own object: an import is a copy of it.
    Object.assign(createRequire(__filename)('amqplib') as object, { connect });
  }

  async connect(name: string): Promise<SimulatedConnection> {
    await this.kernel.turn(`broker: ${name} connects`);
    if (this.kernel.time.now < this.absentUntil)
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const connection = new SimulatedConnection(this, name, acting.getStore());
    this.connections.add(connection);
    return connection;
  }

  /** All connections of it end without a word. */
  drop(actor: Actor): void {
    for (const connection of this.connections) if (connection.actor === actor) connection.end();
  }

  /** Breaks one of the connections. */
  cut(random: Random): void {
    const connection = random.oneOf([...this.connections]);
    if (!connection) return;
    this.kernel.say(`broker: the connection ${connection.name} breaks`);
    connection.break();
  }

  /** It stops, and comes back with everything durable. */
  goAway(ms: number): void {
    this.kernel.say(`broker: is not there for ${ms} ms`);
    this.absentUntil = this.kernel.time.now + ms;
    for (const connection of [...this.connections]) connection.break();
  }

  calmDown(): void {
    this.losing = 0;
    this.breaking = 0;
    this.absentUntil = 0;
  }

  assertExchange(
    name: string,
    type: string,
    { alternateExchange: alternate }: { alternateExchange?: string } = {},
  ): void {
    if (type === 'x-delayed-message' && !this.hasPlugin)
      throw new BrokerRefusal(406, `PRECONDITION_FAILED - invalid exchange type '${type}'`);
    const args = { type, 'alternate-exchange': alternate };
    const known = this.exchanges.get(name);
    if (!known) this.exchanges.set(name, { name, args, bindings: [] });
    else refuseOther(`exchange '${name}'`, args, known.args);
  }

  assertQueue(name: string, options: Record<string, unknown> = {}): void {
    const args: Record<string, unknown> = { ...((options.arguments as object | undefined) ?? {}) };
    if (options.messageTtl !== undefined) args['x-message-ttl'] = options.messageTtl;
    if (options.deadLetterExchange !== undefined) args['x-dead-letter-exchange'] = options.deadLetterExchange;
    const known = this.queues.get(name);
    if (known) return refuseOther(`queue '${name}'`, args, known.args);
    this.queues.set(name, { name, args, messages: [], consumers: [], isQuorum: args['x-queue-type'] === 'quorum' });
  }

  bind(source: string, to: string, isExchange: boolean, key: string): void {
    const exchange = this.exchanges.get(source);
    if (!exchange || !(isExchange ? this.exchanges : this.queues).has(to))
      throw new BrokerRefusal(
        404,
        `NOT_FOUND - no exchange '${source}' in vhost '/', or nothing that is called '${to}'`,
      );
    const isBound = exchange.bindings.some((one) => one.to === to && one.key === key);
    if (!isBound) exchange.bindings.push({ to, isExchange, key });
  }

  /** Returns whether the message found a queue. */
  publish(exchange: string, routingKey: string, content: Buffer, properties: Record<string, unknown>): boolean {
    const message: Message = {
      exchange,
      routingKey,
      content,
      properties: { ...properties, headers: { ...((properties.headers as object | undefined) ?? {}) } },
      deliveries: 0,
      redelivered: false,
    };
    const target = this.exchanges.get(exchange);
    if (exchange.endsWith('.events')) this.listener.take({ content });
    if (target?.args.type === 'x-delayed-message') {
      const delay = message.properties.headers['x-delay'] as { value?: number } | number | undefined;
      const ms = typeof delay === 'object' ? (delay.value ?? 0) : (delay ?? 0);
      this.outside(() => this.kernel.time.after(ms, () => this.isLost(message) || this.route(message)));
      return true;
    }
    return this.route(message);
  }

  private isLost({ routingKey }: Message): boolean {
    if (!this.kernel.random.chance(this.losing)) return false;
    this.kernel.say(`broker: loses ${routingKey}`);
    return true;
  }

  /** Timers of the broker survive the processes that caused them. */
  private outside(run: () => void): void {
    acting.exit(run);
  }

  private route(message: Message): boolean {
    const { exchange, routingKey, properties } = message;
    const queues = exchange === '' ? this.named(routingKey) : this.queuesOf(exchange, routingKey);
    for (const queue of queues) {
      const copy = { ...message, properties: { ...properties, headers: { ...properties.headers } } };
      this.enqueue(queue, copy);
    }
    return queues.size > 0;
  }

  private named(name: string): Set<Queue> {
    const queue = this.queues.get(name);
    return new Set(queue ? [queue] : []);
  }

  private queuesOf(name: string, key: string, seen = new Set<string>()): Set<Queue> {
    const found = new Set<Queue>();
    const exchange = this.exchanges.get(name);
    if (!exchange || seen.has(name)) return found;
    seen.add(name);
    const bindings = exchange.bindings.filter((binding) => matches(String(exchange.args.type), binding.key, key));
    for (const { to, isExchange } of bindings)
      for (const queue of isExchange ? this.queuesOf(to, key, seen) : this.named(to)) found.add(queue);
    const alternate = exchange.args['alternate-exchange'];
    if (bindings.length > 0 || typeof alternate !== 'string') return found;
    return this.queuesOf(alternate, key, seen);
  }

  enqueue(queue: Queue, message: Message, isFront = false): void {
    if (isFront) queue.messages.unshift(message);
    else queue.messages.push(message);
    const ttl = queue.args['x-message-ttl'];
    if (typeof ttl === 'number' && !isFront)
      this.outside(() =>
        this.kernel.time.after(ttl, () => {
          const at = queue.messages.indexOf(message);
          if (at < 0) return;
          queue.messages.splice(at, 1);
          if (!this.isLost(message)) this.deadLetter(queue, message);
        }),
      );
    this.offer(queue);
  }

  deadLetter(queue: Queue, message: Message): void {
    const exchange = queue.args['x-dead-letter-exchange'];
    if (typeof exchange !== 'string') return;
    const key = (queue.args['x-dead-letter-routing-key'] as string | undefined) ?? message.routingKey;
    this.publish(exchange, key, message.content, message.properties);
  }

  /** Lets a consumer with room have the next message, at some step. */
  offer(queue: Queue): void {
    const { messages } = queue;
    if (messages.length === 0) return;
    const free = queue.consumers.filter(({ channel }) => channel.hasRoom);
    const consumer = this.kernel.random.oneOf(free);
    if (!consumer) return;
    const message = messages.shift();
    if (!message) return;
    consumer.channel.deliver(consumer, message);
    this.offer(queue);
  }
}

/** A declaration must say what the first one said. */
function refuseOther(what: string, told: Record<string, unknown>, known: Record<string, unknown>): void {
  const names = Object.keys({ ...known, ...told });
  const other = names.find((name) => told[name] !== known[name]);
  if (other === undefined) return;
  const difference = `received '${String(told[other])}' but current is '${String(known[other])}'`;
  throw new BrokerRefusal(
    406,
    `PRECONDITION_FAILED - inequivalent arg '${other}' for ${what} in vhost '/': ${difference}`,
  );
}

function matches(type: string, pattern: string, key: string): boolean {
  if (type === 'fanout') return true;
  if (type !== 'topic') return pattern === key;
  return matchWords(pattern.split('.'), key.split('.'));
}

function matchWords(pattern: readonly string[], key: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return key.length === 0;
  if (first === '#') return matchWords(rest, key) || (key.length > 0 && matchWords(pattern, key.slice(1)));
  return key.length > 0 && (first === '*' || first === key[0]) && matchWords(rest, key.slice(1));
}

import {
  type CustomTransportStrategy,
  Server,
  BaseRpcContext,
  type ConsumerDeserializer,
  type IncomingEvent,
  type IncomingRequest,
} from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import { type DiscoveryService, MetadataScanner } from '@nestjs/core';
import { PATTERN_EXTRAS_METADATA, TRANSPORT_METADATA } from '@nestjs/microservices/constants';
import { type Clock } from '../clock';
import { parseJson } from '../errors';
import { inSpan, messagingAttributes } from '../tracing';
import { type Delivery, type ParkReason, type ManualAckConsumer } from './consumer';
import { declareCommandQueue } from './declare-topology';
import { KeptDeliveries } from './kept-deliveries';
import { type RabbitClient } from './rabbit-client';
import { Reminder } from './rabbit-connection';
import { DuplicateCommandHandlerError } from './errors';
import { type ParkedQueue } from './parked';
import { type ReplySender } from './reply-sender';

/**
 * What a handler's error means for its message.
 * - `park`: it can never succeed.
 * - `again`: not the handler's fault, for example an unavailable database. It is retried in place, uncounted.
 * - `redeliver`: the error may be temporary. The message is returned, and the broker counts that.
 */
export type Verdict = { readonly type: 'park'; readonly park: ParkReason } | Retry;

type Retry = { readonly type: 'again' } | { readonly type: 'redeliver' };

interface ServerDependencies {
  readonly client: RabbitClient;
  readonly clock: Clock;
  /** Tells the handlers of this transport apart from those of the host's other transports. */
  readonly handlers: CommandHandlers;
  /** Handlers that run at the same time. */
  readonly concurrency: number;
  /** Unacknowledged commands at the same time. More than `concurrency`, so that waits for a lock do not block the others. */
  readonly prefetch: number;
  judge(error: unknown): Verdict;
  /** Whether what the handlers need is available, for example the database. Must not reject. */
  isReady(): Promise<boolean>;
  /** Commands with the same key run sequentially, in order of arrival. Undefined: in parallel with all others. */
  keyOf(body: unknown): string | undefined;
}

interface Command {
  readonly delivery: Delivery;
  readonly pattern: string;
  /** Undefined if it is not JSON. */
  readonly body: unknown;
}

/**
 * The share of concurrent handlers that may be retries. A retry may wait 2 s for a row that is locked for an hour.
 * Without the limit, 50 of those keep all slots, and a payment of another row misses its deadline.
 */
const RETRY_PART = 1 / 4;

const FIRST_PAUSE_MS = 250;

const LONGEST_PAUSE_MS = 5_000;

/** Pause before a delivery is returned. It occupies a place of the prefetch for this time. */
const FIRST_REDELIVERY_MS = 1_000;

const LONGEST_REDELIVERY_MS = 60_000;

/**
 * Transport strategy for `app.connectMicroservice({ strategy })`. Commands arrive through a topic exchange as plain
 * JSON, the routing key is the pattern, and a message is acknowledged only after its handler has finished. Unlike the
 * built-in RMQ transport, it needs no envelope and loses nothing: messages that cannot be processed are parked with the
 * reason. Only handlers that specify RABBIT_TRANSPORT receive commands, one handler per command.
 */
export class RabbitServer extends Server implements CustomTransportStrategy {
  override readonly transportId = RABBIT_TRANSPORT;
  private readonly turns = new OneAtATime();
  private readonly slots: Slots;
  private readonly retries: Slots;
  private readonly reminder: Reminder;
  private consumption: { readonly consumer: ManualAckConsumer; readonly kept: KeptDeliveries } | undefined;

  /** @internal Nest creates it. */
  constructor(private readonly deps: ServerDependencies) {
    super();
    this.slots = new Slots(deps.concurrency);
    this.retries = new Slots(Math.max(1, Math.floor(deps.concurrency * RETRY_PART)));
    this.reminder = new Reminder(deps.clock);
    deps.handlers.mark();
  }

  /**
   * Nest adds every handler without a transport to every server, so a command could call a host's event handlers.
   *
   * @throws DuplicateCommandHandlerError for the second handler of a command; Nest would call both.
   */
  override addHandler(...[pattern, callback, isEvent, extras]: Parameters<Server['addHandler']>): void {
    const command = this.normalizePattern(pattern as string);
    if (this.deps.handlers.take(command, extras)) super.addHandler(command, callback, isEvent, extras);
  }

  listen(callback: (error?: unknown) => void): void {
    const { client, clock, prefetch } = this.deps;
    const consumer = client.consume({
      queue: client.names.commands,
      prefetch,
      declare: async (channel) => void (await declareCommandQueue(channel, client.names, client.options)),
      onDelivery: (delivery) => this.take(delivery, kept),
    });
    const kept = new KeptDeliveries(clock, { consumer, isThere: () => this.deps.isReady() });
    this.consumption = { consumer, kept };
    callback();
  }

  async close(): Promise<void> {
    await this.consumption?.consumer.stop();
  }

  on(): void {
    throw new Error('RabbitServer has no events; see the log of RabbitConnection');
  }

  unwrap<T>(): T {
    return this.deps.client as T;
  }

  private take(delivery: Delivery, kept: KeptDeliveries): void {
    const body = parseJson(delivery.body);
    const command: Command = { delivery, body, pattern: delivery.message.fields.routingKey };
    const key = this.deps.keyOf(body);
    void (key === undefined ? this.work(command, kept) : this.turns.run(key, () => this.work(command, kept)));
  }

  /** Resolves once it is acknowledged. Later commands with its key wait: a payment must not overtake its order. */
  private async work(command: Command, kept: KeptDeliveries): Promise<void> {
    let wasReady = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      // After an outage, all are retried immediately. If only this command has a problem, the others go first.
      const verdict = await this.attempt(command, kept, wasReady ? [this.retries, this.slots] : [this.slots]);
      if (!verdict) return;
      if (verdict.type === 'done' || verdict.type === 'park')
        return endCommand(this.deps.client, command.delivery, verdict);
      const isReady = await kept.isThere();
      const isFault = isReady && verdict.type === 'redeliver';
      if (isFault && !command.delivery.isUncounted) return this.redeliver(command.delivery, kept);
      const aloneMs = isFault ? faultPauseMs(command.delivery) : pauseMs;
      if (isFault) command.delivery.countFailure();
      const isOurs = await (isReady ? kept.keepAlone(command.delivery, aloneMs) : kept.keep(command.delivery));
      if (!isOurs) return;
      wasReady = isReady;
    }
  }

  /** Undefined if nothing remains to be done. @param lanes in which it takes a place, in this order */
  private attempt(
    command: Command,
    kept: KeptDeliveries,
    lanes: readonly Slots[],
  ): Promise<Retry | CommandEnd | undefined> {
    const { delivery, pattern } = command;
    // While it waited, it was stopped, lost its channel, or became too old.
    const isOver = (): boolean => !kept.mayGoOn(delivery);
    let isLost = false;
    const pause = async (ms: number): Promise<void> => {
      await lanes.reduce(
        (wait, lane) => () => lane.lend(wait),
        () => this.deps.clock.sleep(ms),
      )();
      isLost = isOver();
      if (isLost) throw new Error('the command went back to its queue while it waited');
    };
    const attempt = async (): Promise<Retry | CommandEnd | undefined> => {
      if (isOver()) return void delivery.acknowledge('requeue');
      try {
        return await this.run(command, pause);
      } catch (error) {
        if (isLost) return void delivery.acknowledge('requeue');
        const verdict = this.deps.judge(error);
        return verdict.type === 'park' ? verdict : this.told(verdict, pattern, error);
      }
    };
    return lanes.reduceRight((work, lane) => () => lane.run(work), attempt)();
  }

  /** Logs the failure. Retries in place may fail in the same way for minutes, so they are logged once an hour. */
  private told(verdict: Retry, pattern: string, error: unknown): Retry {
    const reason = error instanceof Error ? error.message : String(error);
    const isAgain = verdict.type === 'again';
    if (!isAgain || this.reminder.isDue(reason)) {
      this.logger.warn(`command "${pattern}" failed and will be ${isAgain ? 'retried' : 'redelivered'}: ${reason}`);
    }
    return verdict;
  }

  private async run({ pattern, body, delivery }: Command, pause: Pause): Promise<CommandEnd> {
    const noAnswer = this.deps.client.replies.problemOf(delivery);
    if (noAnswer) return { type: 'park', park: noAnswer };
    const handler = this.getHandlerByPattern(pattern);
    if (!handler) {
      const reason = `no handler for routing key "${pattern}"; a command handler must specify RABBIT_TRANSPORT`;
      return { type: 'park', park: { code: 'UNKNOWN_COMMAND', reason } };
    }
    if (body === undefined) return { type: 'park', park: { code: 'INVALID_JSON', reason: 'the body is not JSON' } };
    const context = new RabbitContext([delivery, pattern, pause]);
    const destination = this.deps.client.names.commands;
    const attributes = messagingAttributes('process', { destination, messageId: context.messageId });
    const span = { kind: 'consumer', attributes, parent: context.traceparent } as const;
    const answer = await inSpan(`process ${pattern}`, span, async (): Promise<unknown> => {
      const result: unknown = await handler(body, context);
      return lastValueFrom<unknown, unknown>(this.transformToObservable(result), { defaultValue: undefined });
    });
    return { type: 'done', answer };
  }

  private async redeliver(delivery: Delivery, kept: KeptDeliveries): Promise<void> {
    await kept.keepAlone(delivery, faultPauseMs(delivery));
    delivery.acknowledge('requeue');
  }
}

function faultPauseMs({ failures }: Delivery): number {
  return Math.min(FIRST_REDELIVERY_MS * 2 ** Math.min(failures, 10), LONGEST_REDELIVERY_MS);
}

/** The name of a handler that is bound to this transport, as `Class.method`; stored in the handler's extras. */
const NAME = Symbol('order-timeout:command-handler');

/**
 * Knows which handlers of the application are bound to this transport. Nest passes only the extras of a handler's
 * decorator to a server, so the mark is stored there.
 */
export class CommandHandlers {
  private readonly names = new Map<string, string>();

  constructor(private readonly discovery: Pick<DiscoveryService, 'getControllers'>) {}

  /** Must run before Nest adds the handlers. */
  mark(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      if (metatype) markMethods(metatype.name, metatype.prototype as Record<string, object>);
    }
  }

  /** @throws DuplicateCommandHandlerError if another handler has this command. */
  take(command: string, extras: Readonly<Record<PropertyKey, unknown>> = {}): boolean {
    const name = extras[NAME];
    if (typeof name !== 'string') return false;
    const other = this.names.get(command);
    if (other !== undefined) throw new DuplicateCommandHandlerError(command, other, name);
    this.names.set(command, name);
    return true;
  }
}

function markMethods(className: string, prototype: Record<string, object>): void {
  for (const method of new MetadataScanner().getAllMethodNames(prototype)) {
    const handler = prototype[method];
    if (!handler || Reflect.getMetadata(TRANSPORT_METADATA, handler) !== RABBIT_TRANSPORT) continue;
    const extras: unknown = Reflect.getMetadata(PATTERN_EXTRAS_METADATA, handler);
    Reflect.defineMetadata(
      PATTERN_EXTRAS_METADATA,
      { ...(extras as object), [NAME]: `${className}.${method}` },
      handler,
    );
  }
}

type Pause = (ms: number) => Promise<void>;

/** What a handler can learn about its message, by `@Ctx()`. The strategy acknowledges it, not the handler. */
export class RabbitContext extends BaseRpcContext<[Delivery, string, Pause?]> {
  /** The routing key of the message. */
  get pattern(): string {
    return this.args[1];
  }

  get messageId(): string | undefined {
    const id: unknown = this.args[0].message.properties.messageId;
    return typeof id === 'string' ? id : undefined;
  }

  /** The queue to which the return value of the handler is sent, as JSON. Undefined: the sender wants no answer. */
  get replyTo(): string | undefined {
    return this.args[0].replyTo;
  }

  get correlationId(): string | undefined {
    return this.args[0].correlationId;
  }

  /** W3C trace context of the sender. */
  get traceparent(): string | undefined {
    const value = this.args[0].headers['traceparent'];
    return typeof value === 'string' ? value : undefined;
  }

  /** Waits, while commands of others run in the place of this one. Those with its key do not. */
  async pause(ms: number): Promise<void> {
    await this.args[2]?.(ms);
  }
}

/** Binds a handler to RabbitServer: `@EventPattern<string>('order.placed', RABBIT_TRANSPORT)`. */
export const RABBIT_TRANSPORT = Symbol('order-timeout:rabbit');

/** How a command ended: with what its handler returned, or never to be tried again. */
export type CommandEnd =
  { readonly type: 'done'; readonly answer: unknown } | { readonly type: 'park'; readonly park: ParkReason };

interface EndDependencies {
  readonly replies: Pick<ReplySender, 'send'>;
  readonly parked: Pick<ParkedQueue, 'park'>;
}

/**
 * Answers, and then acknowledges or parks. The answer comes first: if this process dies in between, the command is
 * delivered again and answered again, and no sender waits in vain. A refusal that its sender knows of is not parked.
 */
export async function endCommand(
  { replies, parked }: EndDependencies,
  delivery: Delivery,
  end: CommandEnd,
): Promise<void> {
  const isRefusal = end.type === 'park';
  const isAnswered = await replies.send(delivery, isRefusal ? { error: errorOf(end.park) } : end.answer, isRefusal);
  const isSettled = end.type === 'done' || (isAnswered && !end.park.isFault);
  if (isSettled) delivery.acknowledge('ack');
  else await parked.park(delivery, end.park);
}

function errorOf({ code, reason, details, isFault = false }: ParkReason): Record<string, unknown> {
  const message = isFault ? 'an unexpected error occurred; the command is parked, and the log has the error' : reason;
  return { ...details, code, message };
}

/**
 * Lets a Nest application consume our events with `Transport.RMQ` and `@EventPattern('order.closed')`: the pattern of an
 * event is the type of its message, and its data the body. Messages of Nest itself stay as they are.
 */
export class EventDeserializer implements ConsumerDeserializer {
  /** @param properties of the AMQP message */
  deserialize(body: unknown, properties: { readonly type?: unknown } = {}): IncomingEvent | IncomingRequest {
    if (isOfNest(body)) return body;
    return { pattern: typeof properties.type === 'string' ? properties.type : typeOf(body), data: body };
  }
}

function isOfNest(body: unknown): body is IncomingEvent | IncomingRequest {
  return typeof body === 'object' && body !== null && 'pattern' in body && 'data' in body;
}

function typeOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
}

/** Limits how much work runs at the same time. The rest waits in order of arrival. */
class Slots {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(count: number) {
    this.free = count;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.take();
    try {
      return await work();
    } finally {
      this.give();
    }
  }

  /** Called by work: others may run until this has ended. */
  async lend(wait: () => Promise<void>): Promise<void> {
    this.give();
    try {
      await wait();
    } finally {
      await this.take();
    }
  }

  private async take(): Promise<void> {
    if (this.free === 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.free -= 1;
  }

  private give(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.free += 1;
  }
}

/** Runs work with the same key sequentially, in order of arrival, and work with different keys in parallel. */
export class OneAtATime {
  private readonly tails = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.tails.get(key) ?? Promise.resolve()).then(work);
    const tail = result
      .catch(() => undefined)
      .then(() => {
        if (this.tails.get(key) === tail) this.tails.delete(key);
      });
    this.tails.set(key, tail);
    return result;
  }
}

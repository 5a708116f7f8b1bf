import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import { type Clock } from '../clock';
import { inSpan, messagingAttributes } from '../tracing';
import { type CommandHandlers } from './command-handlers';
import { type Delivery } from './delivery';
import { declareCommandQueue } from './declare-topology';
import { type CommandEnd, endCommand } from './end-command';
import { KeptDeliveries } from './kept-deliveries';
import { type ManualAckConsumer } from './manual-ack-consumer';
import { OneAtATime } from './one-at-a-time';
import { type ParkReason } from './park-reason';
import { RabbitContext } from './rabbit-context';
import { type RabbitClient } from './rabbit-client';
import { RABBIT_TRANSPORT } from './rabbit-transport';
import { parseJson } from './parse-json';
import { Reminder } from './reminder';
import { Slots } from './slots';

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
    const attempt = (): ReturnType<RabbitServer['attempt']> => this.slots.run(() => this.attempt(command, kept));
    let wasReady = false;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      // After an outage, all are retried immediately. If only this command has a problem, the others go first.
      const verdict = await (wasReady ? this.retries.run(attempt) : attempt());
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

  /** Undefined if nothing remains to be done. */
  private async attempt(command: Command, kept: KeptDeliveries): Promise<Retry | CommandEnd | undefined> {
    const { delivery, pattern } = command;
    // While it waited for its turn, it was stopped, lost its channel, or became too old.
    if (!kept.mayGoOn(delivery)) return void delivery.acknowledge('requeue');
    try {
      return await this.run(command);
    } catch (error) {
      const verdict = this.deps.judge(error);
      return verdict.type === 'park' ? verdict : this.told(verdict, pattern, error);
    }
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

  private async run({ pattern, body, delivery }: Command): Promise<CommandEnd> {
    const noAnswer = this.deps.client.replies.problemOf(delivery);
    if (noAnswer) return { type: 'park', park: noAnswer };
    const handler = this.getHandlerByPattern(pattern);
    if (!handler) {
      const reason = `no handler for routing key "${pattern}"; a command handler must specify RABBIT_TRANSPORT`;
      return { type: 'park', park: { code: 'UNKNOWN_COMMAND', reason } };
    }
    if (body === undefined) return { type: 'park', park: { code: 'INVALID_JSON', reason: 'the body is not JSON' } };
    const context = new RabbitContext([delivery, pattern]);
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

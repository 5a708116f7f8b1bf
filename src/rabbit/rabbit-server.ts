import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import { type CommandHandlers } from './command-handlers';
import { type Delivery } from './delivery';
import { declareCommandQueue } from './declare-topology';
import { type ManualAckConsumer } from './manual-ack-consumer';
import { type ParkReason } from './parked-queue';
import { RabbitContext } from './rabbit-context';
import { type RabbitClient } from './rabbit-client';
import { RABBIT_TRANSPORT } from './rabbit-transport';

/** What a handler's error means for its message. */
export type Verdict = { readonly type: 'park'; readonly park: ParkReason } | { readonly type: 'again' };

interface ServerPlan {
  readonly client: RabbitClient;
  /** Tells the handlers that are bound to this transport from those of the host's other transports. */
  readonly handlers: CommandHandlers;
  /** Commands in hand at once. */
  readonly prefetch: number;
  /** Tells an error that can never succeed from one that may, e.g. a database that is away. */
  judge(error: unknown): Verdict;
}

/**
 * After an error that may pass, so that the message does not turn round in a hot loop; doubled up to the longest, as
 * giving back counts as a delivery up to RabbitMQ 4.2, and a command must outlast an outage of an hour.
 */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Transport strategy for `app.connectMicroservice({ strategy })`: commands come by a topic exchange in plain JSON,
 * the routing key is the pattern, and a message is acknowledged only after its handler has finished. Unlike the
 * built-in RMQ transport it needs no envelope and loses nothing: what cannot be processed is parked with the reason.
 * Only handlers that name RABBIT_TRANSPORT take commands, one for each.
 */
export class RabbitServer extends Server implements CustomTransportStrategy {
  override readonly transportId = RABBIT_TRANSPORT;
  private consumer: ManualAckConsumer | undefined;
  private pauseMs = FIRST_PAUSE_MS;

  constructor(private readonly plan: ServerPlan) {
    super();
    plan.handlers.mark();
  }

  /**
   * Nest adds every handler that names no transport to every server: a sender of commands would call a host's handlers of
   * events.
   *
   * @throws DuplicateCommandHandlerError at the second handler of a command, which Nest would call beside the first.
   */
  override addHandler(...[pattern, callback, isEvent, extras]: Parameters<Server['addHandler']>): void {
    const command = this.normalizePattern(pattern as string);
    if (this.plan.handlers.take(command, extras)) super.addHandler(command, callback, isEvent, extras);
  }

  listen(callback: (error?: unknown) => void): void {
    const { client, prefetch } = this.plan;
    this.consumer = client.consume({
      queue: client.names.commands,
      prefetch,
      declare: async (channel) => void (await declareCommandQueue(channel, client.names, client.options)),
      onDelivery: (delivery) => void this.handle(delivery),
    });
    callback();
  }

  async close(): Promise<void> {
    await this.consumer?.stop();
  }

  on(): void {
    throw new Error('RabbitServer has no events to listen to; see the log of RabbitConnection');
  }

  unwrap<T>(): T {
    return this.plan.client as T;
  }

  private async handle(delivery: Delivery): Promise<void> {
    const pattern = delivery.message.fields.routingKey;
    try {
      const rejected = await this.run(pattern, delivery);
      if (rejected) await this.plan.client.parked.park(delivery, rejected);
      else delivery.settle('ack');
      this.pauseMs = FIRST_PAUSE_MS;
    } catch (error) {
      await this.failed(delivery, error);
    }
  }

  private async run(pattern: string, delivery: Delivery): Promise<ParkReason | undefined> {
    const handler = this.getHandlerByPattern(pattern);
    if (!handler) {
      const reason = `no handler for routing key "${pattern}"; a handler of commands names RABBIT_TRANSPORT`;
      return { code: 'UNKNOWN_COMMAND', reason };
    }
    const data = parse(delivery.body);
    if (data === undefined) return { code: 'INVALID_JSON', reason: 'the body is not JSON' };
    const result: unknown = await handler(data, new RabbitContext([delivery, pattern]));
    await lastValueFrom(this.transformToObservable(result), { defaultValue: undefined });
    return undefined;
  }

  private async failed(delivery: Delivery, error: unknown): Promise<void> {
    const verdict = this.plan.judge(error);
    if (verdict.type === 'park') return this.plan.client.parked.park(delivery, verdict.park);
    this.logger.warn(
      `command failed, will be delivered again: ${error instanceof Error ? error.message : String(error)}`,
    );
    delivery.settle('requeue');
    // Several commands fail together; only the first of them pauses, and doubles the next pause.
    if (!this.consumer?.isConsuming) return;
    const pauseMs = this.pauseMs;
    this.pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    await this.consumer.pause(pauseMs);
  }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Channel, type ChannelModel, type ConfirmChannel, connect, type Message } from 'amqplib';

const PAUSE_MS = 500;
const PREFETCH = 500;
const CLOSE_MS = 3_000;

/** What an order's event says, as far as the check needs it. */
export interface SeenEvent {
  readonly id: string;
  readonly type: string;
  readonly orderId: string;
  readonly orderVersion: number;
}

interface LinkPlan {
  readonly url: string;
  readonly prefix: string;
  readonly seen: (event: SeenEvent) => void;
}

/**
 * The rest of the world on the broker, past all proxies: a subscriber with a durable queue, and shops that send
 * commands until they are confirmed. Reconnects for as long as it lives.
 */
export class BrokerLink {
  private connection: ChannelModel | undefined;
  private commands: ConfirmChannel | undefined;
  private isClosed = false;
  private holds = 0;
  private readonly returned = new Set<string>();
  private readonly loop: Promise<void>;

  constructor(private readonly plan: LinkPlan) {
    this.loop = this.keepUp();
  }

  get channelModel(): ChannelModel | undefined {
    return this.connection;
  }

  /** Commands wait until the function that comes back is called. */
  holdCommands(): () => void {
    this.holds += 1;
    return () => (this.holds -= 1);
  }

  /** Resolves when the broker has confirmed it, however long that takes. */
  async command(name: string, body: unknown, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      if (this.holds === 0 && (await this.tryCommand(name, body))) return;
      await sleep(PAUSE_MS, undefined, { signal });
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const closing = this.connection?.close().catch(() => undefined);
    // A broker that is unavailable or half dead does not answer, and must not keep the run.
    await Promise.race([Promise.all([closing, this.loop]), sleep(CLOSE_MS)]);
  }

  private tryCommand(name: string, body: unknown): Promise<boolean> {
    const { commands } = this;
    if (!commands) return Promise.resolve(false);
    return new Promise((resolve) => {
      const messageId = randomUUID();
      // Mandatory: a broker whose data are new confirms what it has no queue for, and returns it before.
      const options = { persistent: true, mandatory: true, contentType: 'application/json', messageId };
      const lost = setTimeout(() => resolve(false), 10_000);
      const answer = (isThere: boolean): void => {
        clearTimeout(lost);
        resolve(isThere && !this.returned.delete(messageId));
      };
      try {
        const exchange = `${this.plan.prefix}.commands`;
        commands.publish(exchange, name, Buffer.from(JSON.stringify(body)), options, (error: unknown) =>
          answer(!error),
        );
      } catch {
        answer(false);
      }
    });
  }

  private async keepUp(): Promise<void> {
    while (!this.isClosed) {
      await this.connectOnce().catch(() => undefined);
      if (!this.isClosed) await sleep(PAUSE_MS);
    }
  }

  /** Resolves when the connection is gone. */
  private async connectOnce(): Promise<void> {
    const connection = await connect(this.plan.url, { timeout: 5_000, noDelay: true });
    const gone = new Promise<void>((resolve) => connection.once('close', resolve));
    connection.on('error', () => undefined);
    try {
      await this.subscribe(await connection.createChannel());
      const commands = await connection.createConfirmChannel();
      commands.on('error', () => undefined);
      commands.on('return', ({ properties }: Message) => this.returned.add(String(properties.messageId)));
      commands.on('close', () => (this.commands = undefined));
      await commands.assertExchange(`${this.plan.prefix}.commands`, 'topic', { durable: true });
      this.connection = connection;
      this.commands = commands;
      await gone;
    } finally {
      this.connection = undefined;
      this.commands = undefined;
      await connection.close().catch(() => undefined);
    }
  }

  private async subscribe(channel: Channel): Promise<void> {
    channel.on('error', () => undefined);
    const { prefix, seen } = this.plan;
    const queue = `${prefix}.campaign-subscriber`;
    await channel.assertExchange(`${prefix}.events`, 'topic', { durable: true });
    // Classic: a quorum queue of 3.10 that is killed just after it was declared may stay without a leader for good, and no
    // event could be confirmed any more.
    await channel.assertQueue(queue, { durable: true });
    await channel.bindQueue(queue, `${prefix}.events`, '#');
    await channel.prefetch(PREFETCH);
    await channel.consume(queue, (message) => {
      if (!message) return;
      const event = JSON.parse(message.content.toString('utf8')) as Partial<SeenEvent>;
      seen({ id: '', type: '', orderId: '', orderVersion: 0, ...event });
      channel.ack(message);
    });
  }
}

import { Logger } from '@nestjs/common';
import { type Channel, type ChannelModel } from 'amqplib';
import { type Clock, inTime, type Timer, withTimeout } from '../clock';
import { type RabbitConnection, Reminder } from './rabbit-connection';

const FIRST_REOPEN_MS = 100;
const LAST_REOPEN_MS = 5_000;
const CLOSE_MS = 2_000;
/** Declaring the ladder's 150 queues takes 1 to 8 s. Without a limit, a request without an answer blocks forever. */
const OPEN_MS = 60_000;

export interface ChannelDependencies<C extends Channel> {
  readonly name: string;
  create(connection: ChannelModel): Promise<C>;
  /** Prepares the channel (topology, prefetch, consume). A rejection closes it, and it is opened again later. */
  open(channel: C, connection: ChannelModel): Promise<void>;
  /** The channel has closed, on either side. */
  closed(channel: C): void;
}

/**
 * Keeps one raw channel open: opens it again on every reconnect, and with back-off after a channel-level error (404,
 * 406) on a connection that is still open. The raw channel always has an error listener; without one, amqplib turns a
 * channel error into the loss of the whole connection.
 */
export class KeptChannel<C extends Channel> {
  private readonly logger: Logger;
  private readonly unsubscribe: () => void;
  private reopenTimer: Timer | undefined;
  private reopenMs = FIRST_REOPEN_MS;
  private readonly closing = new AbortController();
  private readonly failures: Reminder;
  private readonly closures: Reminder;
  private current: C | undefined;
  /** Channels that have closed, perhaps while they were being prepared. */
  private readonly ended = new WeakSet<C>();

  constructor(
    private readonly connection: RabbitConnection,
    private readonly clock: Clock,
    private readonly deps: ChannelDependencies<C>,
  ) {
    this.logger = new Logger(`Channel:${deps.name}`);
    this.failures = new Reminder(clock);
    this.closures = new Reminder(clock);
    this.unsubscribe = connection.onConnect((model) => void this.tryOpen(model));
  }

  /** The channel, while it is open and prepared. */
  get channel(): C | undefined {
    return this.current;
  }

  /** Waits for the broker's answer for at most `ms`. */
  async close(ms = CLOSE_MS): Promise<void> {
    this.closing.abort();
    this.unsubscribe();
    this.reopenTimer?.cancel();
    await this.reset(this.current, ms);
  }

  /** Closes `channel` on purpose, even while it is being prepared. A new one is opened with back-off. */
  async reset(channel: C | undefined, ms = CLOSE_MS): Promise<void> {
    if (!channel) return;
    // In a separate turn, because closing a closed channel throws.
    const closing = Promise.resolve()
      .then(() => channel.close())
      .catch(() => undefined);
    await withTimeout(this.clock, ms, closing, undefined);
  }

  private async tryOpen(model: ChannelModel): Promise<void> {
    this.reopenTimer?.cancel();
    let channel: C | undefined;
    try {
      channel = await this.deps.create(model);
      this.watch(channel);
      const opening = this.deps.open(channel, model);
      const late = (): Error => new Error(`the broker did not respond within ${OPEN_MS} ms`);
      await inTime(this.clock, OPEN_MS, opening, late, this.closing.signal);
      if (this.isClosed) return await channel.close();
      if (this.ended.has(channel)) throw new Error('the channel closed during its preparation');
      this.current = channel;
      this.reopenMs = FIRST_REOPEN_MS;
      this.failures.reset();
      this.closures.reset();
    } catch (error) {
      this.failed(model, channel, error);
    }
  }

  private get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  private watch(channel: C): void {
    channel.on('error', ({ message }: Error) => {
      if (this.closures.isDue(message)) this.logger.warn(`closed by the broker: ${message}`);
    });
    channel.on('close', () => this.gone(channel));
  }

  private gone(channel: C): void {
    this.ended.add(channel);
    if (this.current !== channel) return;
    this.current = undefined;
    this.deps.closed(channel);
    const model = this.connection.model;
    if (model) this.reopenLater(model);
  }

  private failed(model: ChannelModel, channel: C | undefined, error: unknown): void {
    // During a shutdown, do not wait for the answer, which may never come.
    void this.reset(channel, this.isClosed ? 0 : CLOSE_MS);
    if (this.isClosed || this.connection.model !== model) return;
    const why = reasonOf(error);
    if (this.failures.isDue(why)) this.logger.error(`could not be opened, retrying: ${why}`);
    this.reopenLater(model);
  }

  private reopenLater(model: ChannelModel): void {
    if (this.isClosed) return;
    this.reopenTimer?.cancel();
    this.reopenTimer = this.clock.after(this.reopenMs, () => {
      if (this.connection.model === model) void this.tryOpen(model);
    });
    this.reopenMs = Math.min(this.reopenMs * 2, LAST_REOPEN_MS);
  }
}

/** Of a connection. At the start, an instance has up to some 25 on one, because each queue is declared on one more. */
export const LEAST_CHANNELS = 32;

/** amqplib does not say whose limit it is. */
function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return reason.startsWith('No channels left')
    ? `${reason}; set channel_max of the broker to ${LEAST_CHANNELS} or more`
    : reason;
}

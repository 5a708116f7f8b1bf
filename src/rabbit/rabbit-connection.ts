import { Logger } from '@nestjs/common';
import { connect, type AmqpConnectionManager } from 'amqp-connection-manager';
import { type ChannelModel } from 'amqplib';
import { type Socket } from 'node:net';
import { type Clock, type Timer, withTimeout } from '../clock';
import { packageVersion } from '../errors';
import { BrokerLoginRefusedError, REFUSED_PAUSE_S } from './errors';
import { type ResolvedRabbitOptions } from './rabbit-options';
import { dropUndecodableHeaders } from './workarounds/undecodable-headers';

/** A broker that does not respond must not delay a shutdown. */
const CLOSE_MS = 2_000;

const PAUSE_S = 1;

/** A connection that the broker closes sooner is refused what it asks for, such as one channel more, and will be again. */
const STEADY_MS = 10_000;

type Listener = (connection: ChannelModel) => void;

/**
 * One AMQP connection that is kept open. Only the connection uses amqp-connection-manager: after a reconnect, its
 * channel wrapper acknowledges old delivery tags on the newest channel, which acknowledges another message, and it never
 * reopens a channel after an error. KeptChannel keeps the channels.
 */
export class RabbitConnection {
  private readonly logger: Logger;
  private readonly listeners = new Set<Listener>();
  private manager: AmqpConnectionManager | undefined;
  private current: ChannelModel | undefined;
  private blocked = false;
  /** For good: a handler that outlives the shutdown may still want to answer. */
  private isClosed = false;
  private isOutageLogged = false;
  private openedAt = 0;
  /** The last connection was closed soon after it had opened, so one that opens is no news yet. */
  private isFlapping = false;
  private steadyAt: Timer | undefined;
  private readonly flaps: Reminder;

  constructor(
    private readonly options: ResolvedRabbitOptions,
    readonly purpose: 'publish' | 'wake-up' | 'consume' | 'answer',
    private readonly clock: Clock,
    private readonly refusals = new LoginRefusals(clock),
  ) {
    this.logger = new Logger(`RabbitConnection:${purpose}`);
    this.flaps = new Reminder(clock);
  }

  /** Starts connecting and returns immediately, because the broker may be down. */
  start(): void {
    if (this.manager || this.isClosed) return;
    this.manager = connect([...this.options.urls], {
      heartbeatIntervalInSeconds: this.options.heartbeatSeconds,
      reconnectTimeInSeconds: PAUSE_S,
      connectionOptions: {
        clientProperties: {
          connection_name: `${this.options.connectionName}:${this.purpose}`,
          release: packageVersion(),
        },
        timeout: 10_000,
        noDelay: true,
      },
    });
    this.manager.on('connect', ({ connection }) => this.opened(connection as unknown as ChannelModel));
    this.manager.on('disconnect', ({ err }) => this.lost(err));
    this.manager.on('connectFailed', ({ err, url }) => this.failed(err, url));
    this.manager.on('blocked', ({ reason }) => this.setBlocked(true, reason));
    this.manager.on('unblocked', () => this.setBlocked(false));
  }

  get model(): ChannelModel | undefined {
    return this.current;
  }

  get isUp(): boolean {
    return this.current !== undefined;
  }

  /** The broker has a memory or disk alarm and reads nothing from this connection. */
  get isBlocked(): boolean {
    return this.blocked;
  }

  /** Calls `listener` on every connect, and immediately if connected. Returns a function that removes it. */
  onConnect(listener: Listener): () => void {
    this.listeners.add(listener);
    if (this.current) listener(this.current);
    return () => this.listeners.delete(listener);
  }

  /** Waits for the broker's answer for at most `ms`. */
  async close(ms = CLOSE_MS): Promise<void> {
    const { manager, current } = this;
    this.isClosed = true;
    this.listeners.clear();
    this.steadyAt?.cancel();
    this.current = undefined;
    this.manager = undefined;
    if (manager) await endConnection(this.clock, current, manager.close(), ms);
  }

  private opened(connection: ChannelModel): void {
    if (this.isClosed) return;
    dropUndecodableHeaders(connection);
    this.current = connection;
    this.blocked = false;
    this.isOutageLogged = false;
    this.refusals.end(this);
    this.pause(PAUSE_S);
    this.openedAt = this.clock.monotonic();
    if (this.isFlapping) this.steadyAt = this.clock.after(STEADY_MS, () => this.steady());
    else this.logger.log('connected');
    for (const listener of this.listeners) listener(connection);
  }

  private steady(): void {
    this.isFlapping = false;
    this.flaps.reset();
    this.logger.log('connected');
  }

  private failed(error: Error, url: unknown): void {
    const refusal = BrokerLoginRefusedError.from(error, url, this.options.prefix);
    this.pause(refusal ? REFUSED_PAUSE_S : PAUSE_S);
    if (refusal) this.refused(refusal);
    else this.lost(error);
  }

  private refused(refusal: BrokerLoginRefusedError): void {
    this.current = undefined;
    if (this.manager && this.refusals.isDue(this, refusal)) this.logger.error(refusal.message);
  }

  private pause(seconds: number): void {
    if (this.manager) this.manager.reconnectTimeInSeconds = seconds;
  }

  private lost(error: Error | undefined): void {
    this.steadyAt?.cancel();
    if (this.current) this.isFlapping = this.clock.monotonic() - this.openedAt < STEADY_MS;
    this.current = undefined;
    this.blocked = false;
    // The manager tries every second. One line per outage is enough.
    if (this.isOutageLogged || !this.manager) return;
    this.isOutageLogged = true;
    const why = error?.message ?? 'connection closed';
    if (!this.isFlapping || this.flaps.isDue(why)) this.logger.warn(`not connected, retrying every second: ${why}`);
  }

  private setBlocked(blocked: boolean, reason = ''): void {
    this.blocked = blocked;
    this.logger.warn(blocked ? `blocked by the broker: ${reason}` : 'unblocked');
  }
}

/**
 * Waits `ms` for the end of a connection, then destroys its socket. A broker that does not respond (for example a
 * frozen one) would keep the socket open, and with it the process. So does one with an alarm: amqplib reports the end at
 * once, but the broker does not read that the socket was ended.
 */
export async function endConnection(
  clock: Clock,
  model: ChannelModel | undefined,
  closing: Promise<unknown>,
  ms: number,
): Promise<void> {
  // A rejection means that it has ended already.
  const isClosing = closing.catch(() => undefined);
  if (!model) return;
  const { stream } = model.connection as unknown as { readonly stream: Socket };
  const isClosed = isClosing.then(() => whenClosed(stream)).then(() => true);
  if (await withTimeout(clock, ms, isClosed, false)) return;
  stream.destroy(new Error(`the broker did not respond within ${ms} ms`));
}

function whenClosed(stream: Socket): Promise<void> {
  return stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', () => resolve()));
}

/**
 * The refused logins of all connections of a client, which use the same login: one line tells of all. A limit of
 * connections may keep out any of them, while the others are connected.
 */
export class LoginRefusals {
  private readonly refused = new Set<object>();
  private readonly reminder: Reminder;

  constructor(clock: Clock) {
    this.reminder = new Reminder(clock);
  }

  isDue(connection: object, { remedy }: BrokerLoginRefusedError): boolean {
    this.refused.add(connection);
    // The same at each node of a cluster, while the message names the node.
    return this.reminder.isDue(remedy);
  }

  /** The connection is open. The next refusal counts as new only if no other one lasts. */
  end(connection: object): void {
    this.refused.delete(connection);
    if (this.refused.size === 0) this.reminder.reset();
  }
}

/** Far enough apart to keep the log readable, and close enough for a reader of only its end. */
const REMIND_MS = 3_600_000;

/** Logs a lasting problem once, and again every hour. */
export class Reminder {
  private last: { readonly text: string; readonly at: number } | undefined;

  constructor(private readonly clock: Clock) {}

  /** Whether to log it now: it is new, or was logged an hour ago. */
  isDue(text: string): boolean {
    const now = this.clock.monotonic();
    if (this.last?.text === text && now - this.last.at < REMIND_MS) return false;
    this.last = { text, at: now };
    return true;
  }

  /** The problem is over. Its next occurrence counts as new. */
  reset(): void {
    this.last = undefined;
  }
}

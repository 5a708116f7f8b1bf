import { randomUUID } from 'node:crypto';
import { assertNever, messageOf } from '../errors';
import { type Clock, SystemClock, withTimeout } from '../clock';
import { type Channel, type ChannelModel, type ConfirmChannel, endConnection } from '../rabbit';
import {
  DelayedExchangeMissingError,
  DelayedExchangeUnusableError,
  type DelayTransportName,
  type DelayTransport,
} from './delay-transport';

/** The configured value. With `auto`, the probe decides. */
export type DelayTransportSetting = 'auto' | DelayTransportName;

/** The transport to use. `undecided` occurs only at the first probe: stay with the sweep and probe again. */
export type TransportSelection =
  | { readonly type: 'use'; readonly transport: DelayTransportName; readonly reason: string }
  | { readonly type: 'undecided'; readonly reason: string };

/**
 * Whether the choice depends on the broker. With several URLs (a cluster), `auto` means the ladder, because the plugin
 * keeps waiting messages on one node only and the ladder keeps them on all nodes.
 */
export function asksTheBroker(configured: DelayTransportSetting, urls: readonly string[]): boolean {
  return configured === 'delayed-exchange' || (configured === 'auto' && urls.length === 1);
}

/**
 * Chooses the transport. An `unknown` probe changes nothing: only a clear answer of the broker switches.
 *
 * @param probe of the delayed exchange; undefined if there is nothing to probe (see `asksTheBroker`).
 * @throws DelayedExchangeMissingError if the plugin is required and the broker does not have it.
 * @throws DelayedExchangeUnusableError if the plugin is required and present, but fails.
 */
export function selectTransport(
  configured: DelayTransportSetting,
  probe: ProbeResult | undefined,
  previous?: DelayTransportName,
): TransportSelection {
  if (configured === 'delayed-exchange' && probe) insistOn(probe);
  if (configured !== 'auto') return use(configured, 'it is configured');
  if (!probe)
    return use('ladder', 'several broker URLs are configured, and the plugin keeps waiting messages on one node only');
  switch (probe.type) {
    case 'works':
      return use('delayed-exchange', 'the broker has a working exchange type x-delayed-message');
    case 'absent':
      return use('ladder', 'the broker does not know the exchange type x-delayed-message');
    case 'unusable':
      return use('ladder', `the exchange type x-delayed-message does not work on this broker: ${probe.reason}`);
    case 'unknown':
      if (previous) return use(previous, `kept, because the probe was inconclusive: ${probe.reason}`);
      return { type: 'undecided', reason: probe.reason };
    default:
      return assertNever(probe);
  }
}

function insistOn(probe: ProbeResult): void {
  if (probe.type === 'absent') throw new DelayedExchangeMissingError();
  if (probe.type === 'unusable') throw new DelayedExchangeUnusableError(probe.reason);
}

function use(transport: DelayTransportName, reason: string): TransportSelection {
  return { type: 'use', transport, reason };
}

/**
 * What the broker does with a delayed message. `absent`: it does not know the exchange type. `unusable`: it accepts the
 * message and does not deliver it, or fails on it. `unknown`: no conclusion; never treat it as one of the others.
 */
export type ProbeResult =
  | { readonly type: 'works' }
  | { readonly type: 'absent' }
  | { readonly type: 'unusable'; readonly reason: string }
  | { readonly type: 'unknown'; readonly reason: string };

interface ProbeOptions {
  /** Prefix of the names that the probe declares. The user needs permissions on them. @default 'order-timeout.v1' */
  readonly prefix?: string;
  /** How long after its delay the message may arrive, milliseconds. @default 10000 */
  readonly timeoutMs?: number;
  /** Declares the transport and everything that belongs to it. @default declares the transport alone */
  readonly prepare?: (channel: Channel, connection: ChannelModel) => Promise<void>;
  /** @default the system clock */
  readonly clock?: Clock;
}

/** Delay of the probe's message: short, but above zero. */
const DELAY_MS = 50;

/** A ladder waits for at least one unit. A probe of an hour is not worth its answer. */
const LONGEST_DELAY_MS = 10_000;

/** A broker that refuses closes a connection within milliseconds. One with an alarm never does. */
const CLOSE_MS = 1_000;

/** Arguments of a queue for messages that arrive after the probe has ended, so that they are not parked. */
const SINK = { 'x-message-ttl': 1_000, 'x-expires': 3_600_000 };

/** Whether a message through the transport arrives soon enough to wait for it. */
export function isProbeable(transport: DelayTransport): boolean {
  return transport.maxEarlyMs <= LONGEST_DELAY_MS;
}

/**
 * Finds out whether wake-ups arrive: declares the transport, sends one message through it, and waits for it. Declaring
 * alone proves nothing, because a plugin whose tables are gone accepts the declaration and fails on every message. Uses
 * a separate connection, because both "unknown exchange type" (up to RabbitMQ 3.13) and a failing plugin close the
 * whole connection. Never rejects.
 *
 * @param open creates the connection, which is closed afterward; its errors are handled here.
 */
export async function probeTransport(
  open: () => Promise<ChannelModel>,
  transport: DelayTransport,
  options: ProbeOptions = {},
): Promise<ProbeResult> {
  const { timeoutMs = 10_000, clock = new SystemClock() } = options;
  const delayMs = Math.max(transport.maxEarlyMs, DELAY_MS);
  if (!isProbeable(transport)) return { type: 'unknown', reason: `one unit of the ladder is ${delayMs} ms` };
  const progress: Progress = { isTaken: false, isBlocked: false };
  const opening = Promise.resolve().then(open);
  const asking = opening.then((connection) => ask(connection, { transport, delayMs, options, clock, progress }));
  const result = await withTimeout(clock, delayMs + timeoutMs, asking.catch(judge), undefined);
  const closing = opening.then((connection) => endConnection(clock, connection, connection.close(), CLOSE_MS));
  await withTimeout(
    clock,
    2 * CLOSE_MS,
    closing.catch(() => undefined),
    undefined,
  );
  return result ?? judgeSilence(progress, timeoutMs);
}

interface Progress {
  /** The broker has confirmed the message. */
  isTaken: boolean;
  /** The broker has an alarm and accepts no messages, so the transport cannot be judged. */
  isBlocked: boolean;
}

interface Question {
  readonly transport: DelayTransport;
  readonly delayMs: number;
  readonly options: ProbeOptions;
  readonly clock: Clock;
  readonly progress: Progress;
}

/** Settles with the first of these: the message, a refusal, or the end of the connection. */
function ask(connection: ChannelModel, question: Question): Promise<ProbeResult> {
  const { clock, progress } = question;
  connection.on('blocked', () => (progress.isBlocked = true));
  const connectionEnds = new Promise<ProbeResult>((resolve) => {
    connection.on('error', (error) => resolve(judge(error)));
    connection.on('close', (error) => resolve(judge(error ?? new Error('the connection was closed'))));
  });
  const reply = sendThrough(connection, question).then(
    (): ProbeResult => ({ type: 'works' }),
    // A request that is open when its connection ends fails with "Channel ended, no reply will be forthcoming". The
    // reason follows a moment later, in the connection's own error.
    (error: unknown) => (hasCode(error) ? judge(error) : withTimeout(clock, CLOSE_MS, connectionEnds, judge(error))),
  );
  return Promise.race([connectionEnds, reply]);
}

async function sendThrough(connection: ChannelModel, question: Question): Promise<void> {
  const { transport, delayMs, options, progress } = question;
  const { prefix = 'order-timeout.v1', prepare } = options;
  const channel = await connection.createConfirmChannel();
  const failed = new Promise<never>((_, reject) => channel.on('error', reject));
  failed.catch(() => undefined);
  await (prepare ? prepare(channel, connection) : transport.declare(channel));
  const queue = `${prefix}.probe.${randomUUID()}`;
  if (transport.name === 'ladder') await declareSink(channel, transport, `${prefix}.probe`);
  await channel.assertQueue(queue, { exclusive: true, durable: false, arguments: { 'x-queue-type': 'classic' } });
  // The queue's own name is the kind, so it gets no other messages.
  await transport.bindKind(channel, queue, queue);
  const arrival = await arrivalIn(channel, queue);
  await publish(channel, transport, queue, delayMs);
  progress.isTaken = true;
  await Promise.race([arrival.message, failed]);
}

async function declareSink(channel: Channel, transport: DelayTransport, queue: string): Promise<void> {
  await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'classic', ...SINK } });
  await transport.bindKind(channel, `${queue}.#`, queue);
}

/** Wrapped in an object, because an async function would await a bare promise. */
async function arrivalIn(channel: Channel, queue: string): Promise<{ message: Promise<void> }> {
  let arrived: () => void = () => undefined;
  const message = new Promise<void>((resolve) => (arrived = resolve));
  await channel.consume(queue, () => arrived(), { noAck: true });
  return { message };
}

function publish(channel: ConfirmChannel, transport: DelayTransport, kind: string, delayMs: number): Promise<void> {
  const { exchange, routingKey, headers } = transport.route(kind, delayMs);
  return new Promise((resolve, reject) => {
    const options = { persistent: true, type: 'probe', ...(headers && { headers }) };
    channel.publish(exchange, routingKey, Buffer.from('{}'), options, (error: unknown) => {
      if (error) reject(error instanceof Error ? error : new Error('the message was refused'));
      else resolve();
    });
  });
}

function judgeSilence({ isTaken, isBlocked }: Progress, timeoutMs: number): ProbeResult {
  if (isBlocked) return { type: 'unknown', reason: 'the broker has an alarm and accepts no messages' };
  if (!isTaken) return { type: 'unknown', reason: `the broker did not answer within ${timeoutMs} ms` };
  return { type: 'unusable', reason: `a message was confirmed but not delivered within ${timeoutMs} ms of its delay` };
}

/**
 * Only 503 on the connection (up to 3.13) and 406 on the channel (from 4.0), both about the type, mean `absent`. 541
 * means that the plugin fails on a message, for example because its tables are gone.
 */
function judge(error: unknown): ProbeResult {
  const reason = messageOf(error);
  if (!hasCode(error)) return { type: 'unknown', reason };
  if ((error.code === 503 || error.code === 406) && /exchange type/i.test(reason)) return { type: 'absent' };
  return { type: error.code === 541 ? 'unusable' : 'unknown', reason };
}

function hasCode(error: unknown): error is { code: number } {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'number';
}

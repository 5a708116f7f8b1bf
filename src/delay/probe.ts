import { type Clock, SystemClock, within } from '../clock';
import { type ChannelModel } from '../rabbit';

/** What the broker says of the delayed exchange. `unknown` must never be taken for `absent`. */
export type ProbeResult =
  { readonly type: 'present' } | { readonly type: 'absent' } | { readonly type: 'unknown'; readonly reason: string };

export interface ProbeOptions {
  /** @default 'x-delayed-message' */
  readonly exchangeType?: string;
  /** Start of the name of the exchange that is tried out: within what the user may configure. @default 'order-timeout.v1' */
  readonly prefix?: string;
  /** After that the result is `unknown`. @default 10000 */
  readonly timeoutMs?: number;
  /** @default the system's */
  readonly clock?: Clock;
}

/** A refusing broker closes a connection in milliseconds; one that does not answer is left to its heartbeat. */
const CLOSE_MS = 1_000;

/**
 * Finds out whether the broker has an exchange type, by declaring an exchange of it and deleting it again: a
 * passive declaration does not look at the type. Costs a connection of its own, because up to RabbitMQ 3.13 the
 * answer "no" closes the whole connection. Never rejects.
 *
 * @param open makes the connection that is thrown away; its errors are handled here.
 */
export async function probeDelayedExchange(
  open: () => Promise<ChannelModel>,
  options: ProbeOptions = {},
): Promise<ProbeResult> {
  const { exchangeType = 'x-delayed-message', prefix = 'order-timeout.v1', timeoutMs = 10_000 } = options;
  const clock = options.clock ?? new SystemClock();
  const opening = Promise.resolve().then(open);
  const asking = opening.then((connection) => ask(connection, `${prefix}.probe`, exchangeType, clock));
  const silence: ProbeResult = { type: 'unknown', reason: `the broker did not answer within ${timeoutMs} ms` };
  const result = await within(clock, timeoutMs, asking.catch(judge), silence);
  const closing = opening.then((connection) => connection.close()).catch(() => undefined);
  await within(clock, CLOSE_MS, closing, undefined);
  return result;
}

/** Settles with the first thing that says anything: the reply, or the end of the connection. */
function ask(connection: ChannelModel, exchange: string, exchangeType: string, clock: Clock): Promise<ProbeResult> {
  const connectionEnds = new Promise<ProbeResult>((resolve) => {
    connection.on('error', (error) => resolve(judge(error)));
    connection.on('close', (error) => resolve(judge(error ?? new Error('the connection was closed'))));
  });
  const reply = tryOut(connection, exchange, exchangeType).then(
    (): ProbeResult => ({ type: 'present' }),
    // Up to 3.13 the request fails with "Channel ended, no reply will be forthcoming"; the reason comes with
    // the connection's own error, a moment later.
    (error: unknown) => (hasCode(error) ? judge(error) : within(clock, CLOSE_MS, connectionEnds, judge(error))),
  );
  return Promise.race([connectionEnds, reply]);
}

async function tryOut(connection: ChannelModel, exchange: string, exchangeType: string): Promise<void> {
  const channel = await connection.createChannel();
  channel.on('error', () => undefined);
  // One fixed name: should we die before the deletion, the next probe deletes it.
  const ofType = { 'x-delayed-type': 'direct' };
  await channel.assertExchange(exchange, exchangeType, { durable: false, autoDelete: true, arguments: ofType });
  // The question is answered; a failure from here on changes nothing about that.
  await channel.deleteExchange(exchange).catch(() => undefined);
}

/** 503 on the connection (up to 3.13) and 406 on the channel (from 4.0), both about the type, are the only "no". */
function judge(error: unknown): ProbeResult {
  const reason = error instanceof Error ? error.message : String(error);
  const isRefusal = hasCode(error) && (error.code === 503 || error.code === 406) && /exchange type/i.test(reason);
  return isRefusal ? { type: 'absent' } : { type: 'unknown', reason };
}

function hasCode(error: unknown): error is { code: number } {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'number';
}

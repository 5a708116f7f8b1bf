import { type Socket } from 'node:net';
import { type ChannelModel } from 'amqplib';
import { type Clock, withTimeout } from '../clock';

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

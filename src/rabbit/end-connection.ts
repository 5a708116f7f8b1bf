import { type ChannelModel } from 'amqplib';
import { type Clock, withTimeout } from '../clock';

/**
 * Waits `ms` for the end of a connection, then destroys its socket. A broker that does not respond (for example a
 * frozen one) would keep the socket open, and with it the process.
 */
export async function endConnection(
  clock: Clock,
  model: ChannelModel | undefined,
  closing: Promise<unknown>,
  ms: number,
): Promise<void> {
  const isClosed = closing.then(
    () => true,
    () => true,
  );
  if (!model || (await withTimeout(clock, ms, isClosed, false))) return;
  const { stream } = model.connection as { stream?: { destroy(error: Error): void } };
  stream?.destroy(new Error(`the broker did not respond within ${ms} ms`));
}

import { type ChannelModel } from 'amqplib';
import { type Clock, withTimeout } from '../clock';

/**
 * Waits `ms` for the end of a connection, then cuts it. A broker that does not answer, e.g. one that is frozen, would
 * keep its socket open, and with it the process.
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
  stream?.destroy(new Error(`the broker did not answer within ${ms} ms`));
}

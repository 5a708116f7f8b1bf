import { type ChannelModel } from 'amqplib';
import { type Clock, withTimeout } from '../clock';
import { endConnection } from './end-connection';

/** A message arrives within milliseconds, and so does the answer that the queue is empty. */
const ANSWER_MS = 10_000;
const CLOSE_MS = 1_000;
const NOT_FOUND = 404;

/**
 * Whether a queue serves its consumers. Uses its own connection: a quorum queue without a leader does not answer, and
 * after 65 s the broker closes the whole connection with 541 (3.10.8). A message that was read returns to the queue
 * when the connection closes. A queue that does not exist counts as serving, because its consumer declares it. Never
 * rejects.
 */
export async function queueServes(clock: Clock, open: () => Promise<ChannelModel>, queue: string): Promise<boolean> {
  const opening = open();
  const asking = opening.then(async (connection) => {
    const channel = await connection.createChannel();
    channel.on('error', () => undefined);
    await channel.get(queue);
    return true;
  });
  const serves = await withTimeout(clock, ANSWER_MS, asking.catch(isGone), false);
  const model = await opening.catch(() => undefined);
  if (model) await endConnection(clock, model, model.close(), CLOSE_MS);
  return serves;
}

function isGone(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === NOT_FOUND;
}

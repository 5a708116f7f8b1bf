import { type Channel, type ChannelModel, type ConfirmChannel } from 'amqplib';

/** Runs `work` on a channel of its own, because a refusal closes the channel. */
export async function onChannel<T>(connection: ChannelModel, work: (channel: Channel) => Promise<T>): Promise<T> {
  const channel = await connection.createChannel();
  channel.on('error', () => undefined);
  const result = await work(channel);
  await channel.close();
  return result;
}

/** The same on a channel whose publications are confirmed. */
export async function onConfirmChannel<T>(
  connection: ChannelModel,
  work: (channel: ConfirmChannel) => Promise<T>,
): Promise<T> {
  const channel = await connection.createConfirmChannel();
  channel.on('error', () => undefined);
  const result = await work(channel);
  await channel.close();
  return result;
}

/** Returns `meaning` for a refusal with `code`. Other errors are thrown. */
export function refusalOf<T>(error: unknown, code: number, meaning: T): T {
  if (error instanceof Error && 'code' in error && error.code === code) return meaning;
  throw error;
}

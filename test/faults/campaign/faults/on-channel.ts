import { type Channel } from 'amqplib';
import { type Scene } from './fault';

/** On a channel of its own, as a refusal closes it. Without a broker there is nothing to be done. */
export async function onChannel(
  { link }: Pick<Scene, 'link'>,
  work: (channel: Channel) => Promise<void>,
): Promise<void> {
  const channel = await link.channelModel?.createChannel().catch(() => undefined);
  if (!channel) return;
  channel.on('error', () => undefined);
  await work(channel).catch(() => undefined);
  await channel.close().catch(() => undefined);
}

import { type ChannelModel } from 'amqplib';
import { onChannel } from './on-channel';

/** Names on the broker. */
export interface BrokerObjects {
  readonly queues: readonly string[];
  readonly exchanges: readonly string[];
}

/**
 * Deletes queues with what they hold, and exchanges. Names that do not exist are no error.
 *
 * @param deleted is called after each
 */
export async function removeTopology(
  connection: ChannelModel,
  { queues, exchanges }: BrokerObjects,
  deleted: () => void = () => undefined,
): Promise<void> {
  await onChannel(connection, async (channel) => {
    // Exchanges first: what is dead-lettered meanwhile goes nowhere instead of into a queue that is to be deleted.
    for (const name of exchanges) {
      await channel.deleteExchange(name);
      deleted();
    }
    for (const name of queues) {
      await channel.deleteQueue(name);
      deleted();
    }
  });
}

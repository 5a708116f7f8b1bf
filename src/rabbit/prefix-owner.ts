import { type Channel, type ChannelModel } from 'amqplib';
import { onChannel, refusalOf } from './on-channel';
import { type TopologyNames } from './topology-names';

/**
 * The owner of the prefix according to the broker's data. `nobody`: the broker is new, was emptied, or does not know
 * the prefix.
 */
export type PrefixOwner =
  { readonly type: 'us' } | { readonly type: 'nobody' } | { readonly type: 'other'; readonly databaseId: string };

/**
 * Uses a durable exchange that nobody publishes to, whose alternate exchange names the owner of the prefix. It exists
 * as long as the broker keeps its data, and a declaration for another database is refused (RabbitMQ compares this
 * argument of an exchange only). So it reveals an emptied broker, and a second service with the same prefix.
 */
export async function readPrefixOwner(
  connection: ChannelModel,
  names: TopologyNames,
  databaseId: string,
): Promise<PrefixOwner> {
  // A refusal closes the channel, so each request has its own.
  const isThere = await onChannel(connection, (channel) => channel.checkExchange(names.owner)).then(
    () => true,
    (error: unknown) => refusalOf(error, 404, false),
  );
  if (!isThere) return { type: 'nobody' };
  const isOurs = await onChannel(connection, (channel) => declareOwner(channel, names, databaseId)).then(
    () => true,
    (error: unknown) => refusalOf(error, 406, false),
  );
  return isOurs ? { type: 'us' } : { type: 'other', databaseId: await readOwner(connection, names) };
}

/** Claims the prefix, regardless of its current owner. */
export async function takePrefix(connection: ChannelModel, names: TopologyNames, databaseId: string): Promise<void> {
  await onChannel(connection, async (channel) => {
    await channel.deleteExchange(names.owner);
    await declareOwner(channel, names, databaseId);
  });
}

async function declareOwner(channel: Channel, names: TopologyNames, databaseId: string): Promise<void> {
  const alternateExchange = `${names.owner}.${databaseId}`;
  await channel.assertExchange(names.owner, 'fanout', { durable: true, internal: true, alternateExchange });
}

/**
 * Reads the owner from the refusal of a declaration without the argument, `… received none but current is the value
 * 'p.owner.<id>' …`. A refusal has at most 255 characters, too few for two owners.
 */
async function readOwner(connection: ChannelModel, names: TopologyNames): Promise<string> {
  const declaring = onChannel(connection, async (channel) => {
    await channel.assertExchange(names.owner, 'fanout', { durable: true, internal: true });
  });
  const message = await declaring.then(
    () => '',
    (error: unknown) => refusalOf(error, 406, String(error)),
  );
  const [, current = ''] = /current is (?:the value )?'([^']*)/.exec(message) ?? [];
  return current.startsWith(`${names.owner}.`) ? current.slice(names.owner.length + 1) : 'unknown';
}

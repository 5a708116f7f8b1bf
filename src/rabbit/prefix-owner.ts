import { type Channel, type ChannelModel } from 'amqplib';
import { type TopologyNames } from './topology-names';

/** Owner of the prefix by the broker's data. `nobody`: the broker is new, was emptied, or has not seen the prefix before. */
export type PrefixOwner =
  { readonly type: 'us' } | { readonly type: 'nobody' } | { readonly type: 'other'; readonly databaseId: string };

/**
 * A durable exchange that nobody publishes to. Its alternate exchange names the owner of the prefix. It exists as long as the
 * broker keeps its data, and a declaration for another database is refused (RabbitMQ compares only this argument of an
 * exchange). So it reveals an emptied broker, and a second service on the prefix.
 */
export async function readPrefixOwner(
  connection: ChannelModel,
  names: TopologyNames,
  databaseId: string,
): Promise<PrefixOwner> {
  // A refusal closes the channel, so each question has its own.
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

/** Makes the prefix ours, whoever owned it before. */
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

async function onChannel(connection: ChannelModel, work: (channel: Channel) => Promise<unknown>): Promise<void> {
  const channel = await connection.createChannel();
  channel.on('error', () => undefined);
  await work(channel);
  await channel.close();
}

/** What a refusal with `code` means; everything else is a fault. */
function refusalOf<T>(error: unknown, code: number, meaning: T): T {
  if (error instanceof Error && 'code' in error && error.code === code) return meaning;
  throw error;
}

/**
 * From the refusal of a declaration without the argument, `… received none but current is the value 'p.owner.<id>' …`: a
 * refusal has at most 255 characters, too few for two owners.
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

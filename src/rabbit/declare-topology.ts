import { Logger } from '@nestjs/common';
import { type Channel, type ChannelModel } from 'amqplib';
import { hasExchange, onChannel, PRECONDITION_FAILED } from './broker-inspection';
import { workQueueArguments, type TopologyNames, parkedQueueArguments } from './topology';
import { type ResolvedRabbitOptions, type QueueType } from './rabbit-options';

type Options = Pick<ResolvedRabbitOptions, 'queueType'>;

/**
 * Declares the exchanges that everyone uses, and the parked queue. Idempotent.
 *
 * @param isAgain this connection has declared them before, so what is missing was deleted
 * @returns exchanges that somebody had deleted, with their bindings. That of the command queue is made again.
 */
export async function declareBase(
  model: ChannelModel,
  channel: Channel,
  names: TopologyNames,
  { queueType }: Options,
  isAgain = false,
): Promise<readonly string[]> {
  const lost = await lostExchanges(model, names, isAgain);
  await channel.assertExchange(names.parked, 'fanout', { durable: true });
  await declareParkedQueue(model, names, queueType);
  await channel.bindQueue(names.parked, names.parked, '');
  // Messages without a work queue are parked and visible instead of dropped.
  await channel.assertExchange(names.work, 'direct', { durable: true, alternateExchange: names.parked });
  await channel.assertExchange(names.events, 'topic', { durable: true });
  await channel.assertExchange(names.commands, 'topic', { durable: true });
  if (lost.includes(names.commands)) await bindCommandsAgain(model, names);
  for (const name of lost) new Logger('Topology').warn(sentenceOfLost(name, names));
  return lost;
}

/** Declares the work queue of a timeout kind. Returns its name. */
export async function declareWorkQueue(
  channel: Channel,
  names: TopologyNames,
  { queueType }: Options,
  kind: string,
): Promise<string> {
  const queue = names.workQueue(kind);
  await channel.assertQueue(queue, { durable: true, arguments: workQueueArguments(queueType, names) });
  await channel.bindQueue(queue, names.work, kind);
  return queue;
}

/** It accepts every routing key, so that a mistyped one is parked and visible instead of confirmed and dropped. */
export async function declareCommandQueue(
  channel: Channel,
  names: TopologyNames,
  { queueType }: Options,
): Promise<string> {
  await channel.assertQueue(names.commands, { durable: true, arguments: workQueueArguments(queueType, names) });
  await bindCommands(channel, names);
  return names.commands;
}

/** A broker that is new, or has lost its data, does not have our prefix either (see `PrefixOwner`). */
async function lostExchanges(model: ChannelModel, names: TopologyNames, isAgain: boolean): Promise<readonly string[]> {
  const ours = [names.events, names.commands, names.work];
  const isThere = await Promise.all(ours.map((name) => hasExchange(model, name)));
  const lost = ours.filter((_, at) => isThere[at] !== true);
  return lost.length > 0 && (isAgain || (await hasExchange(model, names.owner))) ? lost : [];
}

/** No consumer does it while its channel stays open, and the broker drops commands that go to no queue. */
async function bindCommandsAgain(model: ChannelModel, names: TopologyNames): Promise<void> {
  // There may be no such queue yet, and who only publishes may have no right to bind it.
  await onChannel(model, (channel) => bindCommands(channel, names)).catch(() => undefined);
}

async function bindCommands(channel: Channel, names: TopologyNames): Promise<void> {
  await channel.bindQueue(names.commands, names.commands, '#');
}

/** Other programs bind their queues to the exchange of events, and only they can do so again. */
function sentenceOfLost(name: string, { events }: TopologyNames): string {
  return name === events
    ? `the exchange "${name}" was deleted and is declared again without its bindings: no events reach your queues; bind your queues to it again`
    : `the exchange "${name}" was deleted and is declared and bound again: what was sent meanwhile is lost, unless its sender saw that it was refused`;
}

const logger = new Logger('ParkedQueue');

/** Connections for which the warning was logged. */
const told = new WeakSet<object>();

/**
 * Declares the parked queue. An existing queue with other arguments stays as it is, because a queue's arguments cannot
 * be changed: earlier releases declared it without a delivery limit. Uses its own channel, because a refusal closes the
 * channel.
 */
async function declareParkedQueue(model: ChannelModel, names: TopologyNames, queueType: QueueType): Promise<void> {
  const options = { durable: true, arguments: parkedQueueArguments(queueType) };
  await onChannel(model, (channel) => channel.assertQueue(names.parked, options)).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== PRECONDITION_FAILED) throw error;
    tell(model, names.parked, error);
  });
}

function tell(model: ChannelModel, queue: string, error: unknown): void {
  if (told.has(model)) return;
  told.add(model);
  const { version } = (model.connection as { serverProperties?: { version?: string } }).serverProperties ?? {};
  // A queue without the argument has no limit up to 3.13, and a limit of 20 from 4.0 on.
  if (/^[0-3]\./.test(version ?? '')) return;
  logger.warn(
    `the queue "${queue}" was declared with other arguments and is used as it is (${String(error)}). Unless a policy sets its ` +
      `delivery-limit, RabbitMQ ${version} deletes messages that were read and put back 20 times; docs/runbook.md, ` +
      '"Parked messages", has the policy',
  );
}

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

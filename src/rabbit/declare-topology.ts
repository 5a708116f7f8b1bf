import { type Channel, type ChannelModel } from 'amqplib';
import { declareParkedQueue } from './declare-parked-queue';
import { workQueueArguments } from './queue-arguments';
import { type ResolvedRabbitOptions } from './rabbit-options';
import { type TopologyNames } from './topology-names';

type Options = Pick<ResolvedRabbitOptions, 'queueType'>;

/** Declares the exchanges that everyone uses, and the parked queue. Idempotent. */
export async function declareBase(
  model: ChannelModel,
  channel: Channel,
  names: TopologyNames,
  { queueType }: Options,
): Promise<void> {
  await channel.assertExchange(names.parked, 'fanout', { durable: true });
  await declareParkedQueue(model, names, queueType);
  await channel.bindQueue(names.parked, names.parked, '');
  // Messages without a work queue are parked and visible instead of dropped.
  await channel.assertExchange(names.work, 'direct', { durable: true, alternateExchange: names.parked });
  await channel.assertExchange(names.events, 'topic', { durable: true });
  await channel.assertExchange(names.commands, 'topic', { durable: true });
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

/**
 * Declares the command queue. It accepts every routing key, so that a mistyped one is parked and visible instead of
 * confirmed and dropped.
 */
export async function declareCommandQueue(
  channel: Channel,
  names: TopologyNames,
  { queueType }: Options,
): Promise<string> {
  await channel.assertQueue(names.commands, { durable: true, arguments: workQueueArguments(queueType, names) });
  await channel.bindQueue(names.commands, names.commands, '#');
  return names.commands;
}

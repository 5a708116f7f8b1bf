import { Logger } from '@nestjs/common';
import { type Channel, type ChannelModel } from 'amqplib';
import { hasExchange } from './broker-inspection';
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
  await tellOfLostBindings(model, names);
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

/**
 * Other programs bind their queues to the exchange of events, and only they can do so again. A broker that is new, or has
 * lost its data, does not have our prefix either (see `PrefixOwner`).
 */
async function tellOfLostBindings(model: ChannelModel, names: TopologyNames): Promise<void> {
  if ((await hasExchange(model, names.events)) || !(await hasExchange(model, names.owner))) return;
  new Logger('Topology').warn(
    `the exchange "${names.events}" was deleted and is declared again without its bindings: no events reach your queues; ` +
      'bind your queues to it again',
  );
}

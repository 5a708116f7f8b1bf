import { Logger } from '@nestjs/common';
import { type ChannelModel } from 'amqplib';
import { parkedQueueArguments } from './queue-arguments';
import { type QueueType } from './rabbit-options';
import { type TopologyNames } from './topology-names';

const logger = new Logger('ParkedQueue');
const PRECONDITION_FAILED = 406;
/** Connections for which the warning was logged. */
const told = new WeakSet<object>();

/**
 * Declares the parked queue. An existing queue with other arguments stays as it is, because a queue's arguments cannot
 * be changed: earlier releases declared it without a delivery limit. Uses its own channel, because a refusal closes the
 * channel.
 */
export async function declareParkedQueue(
  model: ChannelModel,
  names: TopologyNames,
  queueType: QueueType,
): Promise<void> {
  const channel = await model.createChannel();
  channel.on('error', () => undefined);
  try {
    await channel.assertQueue(names.parked, { durable: true, arguments: parkedQueueArguments(queueType) });
    await channel.close();
  } catch (error) {
    if ((error as { code?: unknown }).code !== PRECONDITION_FAILED) throw error;
    tell(model, names.parked, error);
  }
}

function tell(model: ChannelModel, queue: string, error: unknown): void {
  if (told.has(model)) return;
  told.add(model);
  const { version } = (model.connection as { serverProperties?: { version?: string } }).serverProperties ?? {};
  if (isWithoutDefaultLimit(version)) return;
  logger.warn(
    `the queue "${queue}" was declared with other arguments and is used as it is (${String(error)}). Unless a policy sets its ` +
      `delivery-limit, RabbitMQ ${version} deletes messages that were read and put back 20 times; docs/runbook.md, ` +
      '"Parked messages", has the policy',
  );
}

/** A queue without the argument has no limit up to 3.13, and a limit of 20 from 4.0 on. */
function isWithoutDefaultLimit(version = ''): boolean {
  return /^[0-3]\./.test(version);
}

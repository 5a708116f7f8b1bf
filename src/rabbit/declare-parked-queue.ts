import { Logger } from '@nestjs/common';
import { type ChannelModel } from 'amqplib';
import { parkedQueueArguments } from './queue-arguments';
import { type QueueType } from './rabbit-options';
import { type TopologyNames } from './topology-names';

const logger = new Logger('ParkedQueue');
const PRECONDITION_FAILED = 406;
/** Connections whose operator was told. */
const told = new WeakSet<object>();

/**
 * Declares the queue of what could not be processed. One that is there with other arguments stays as it is, because
 * those of a queue cannot be changed: earlier releases made it without a delivery limit, and go on using it. On a
 * channel of its own, because the refusal closes it.
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
    `the queue "${queue}" was declared otherwise and is used as it is (${String(error)}). Unless a policy sets its ` +
      `delivery-limit, RabbitMQ ${version} deletes what was taken out of it and put back 20 times; docs/runbook.md, ` +
      '"Parked messages", has the policy',
  );
}

/** Up to 3.13 a queue that says nothing has no limit; from 4.0 on it is 20. */
function isWithoutDefaultLimit(version = ''): boolean {
  return /^[0-3]\./.test(version);
}

import { type Channel, type ConsumeMessage } from 'amqplib';
import { Delivery } from '../../../src/rabbit/consumer';

/** A channel that records its acknowledgment, or that has closed. */
export function recordingChannel(isClosed = false) {
  const calls: unknown[][] = [];
  const record =
    (name: string) =>
    (...args: unknown[]) => {
      if (isClosed) throw new Error('Channel closed');
      calls.push([name, ...args]);
    };
  return { calls, channel: { ack: record('ack'), nack: record('nack') } as unknown as Channel };
}

/** A delivery on `channel`, as the broker would deliver it. */
export function deliveryOn(
  channel: Channel,
  properties: object = {},
  onAcknowledged: (one: Delivery) => void = () => {},
) {
  const fields = { deliveryTag: 7, consumerTag: 'c', redelivered: false, exchange: 'x', routingKey: 'order.payment' };
  const message = { content: Buffer.from('{}'), fields, properties } as unknown as ConsumeMessage;
  return new Delivery(message, channel, onAcknowledged, 0);
}

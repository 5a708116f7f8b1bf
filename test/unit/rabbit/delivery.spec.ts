import { Logger } from '@nestjs/common';
import { deliveryOn, recordingChannel } from './deliveries';

describe('a delivery', () => {
  it('is acknowledged individually', () => {
    const { channel, calls } = recordingChannel();
    const delivery = deliveryOn(channel);
    delivery.acknowledge('ack');
    expect(calls).toEqual([['ack', delivery.message]]);
  });

  it.each([
    ['returns to its queue', 'requeue', true],
    ['goes to the parked queue', 'dead-letter', false],
  ] as const)('%s individually on %s', (_, acknowledgment, requeue) => {
    const { channel, calls } = recordingChannel();
    const delivery = deliveryOn(channel);
    delivery.acknowledge(acknowledgment);
    expect(calls).toEqual([['nack', delivery.message, false, requeue]]);
  });

  it('is acknowledged once, and the first acknowledgment counts', () => {
    const { channel, calls } = recordingChannel();
    const settled = jest.fn();
    const delivery = deliveryOn(channel, {}, settled);
    expect(delivery.isAcknowledged).toBe(false);
    for (const acknowledgment of ['requeue', 'ack', 'dead-letter'] as const) delivery.acknowledge(acknowledgment);
    expect(calls).toHaveLength(1);
    expect(settled.mock.calls).toEqual([[delivery]]);
    expect(delivery.isAcknowledged).toBe(true);
  });

  it('counts as acknowledged, with a warning, if its channel has closed: the broker delivers it again', () => {
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const settled = jest.fn();
    deliveryOn(recordingChannel(true).channel, {}, settled).acknowledge('ack');
    expect(settled).toHaveBeenCalledTimes(1);
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('the broker will redeliver'));
    warned.mockRestore();
  });

  it('has empty headers instead of undefined ones', () => {
    expect(deliveryOn(recordingChannel().channel).headers).toEqual({});
  });
});

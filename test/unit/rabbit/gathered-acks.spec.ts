import { Logger } from '@nestjs/common';
import { type ConsumeMessage } from 'amqplib';
import * as fc from 'fast-check';
import { GatheredAcks } from '../../../src/rabbit/consumer';
import { recordingChannel } from './deliveries';

const messageOf = (deliveryTag: number) => ({ fields: { deliveryTag } }) as ConsumeMessage;

function setup(count: number, isClosed = false) {
  const { channel, calls } = recordingChannel(isClosed);
  const acks = new GatheredAcks(channel);
  const messages = Array.from({ length: count }, (_, index) => messageOf(index + 1));
  for (const message of messages) acks.delivered(message);
  return { acks, calls, messages };
}

/** How the broker treats the frames: it rejects a tag that is not outstanding. */
function acknowledgedBy(calls: unknown[][], delivered: number): Map<number, string> {
  const waiting = new Set(Array.from({ length: delivered }, (_, index) => index + 1));
  const settled = new Map<number, string>();
  for (const [name, message, allUpTo] of calls as [string, ConsumeMessage, boolean?][]) {
    const { deliveryTag } = message.fields;
    if (!waiting.has(deliveryTag)) throw new Error(`PRECONDITION_FAILED - unknown delivery tag ${deliveryTag}`);
    for (const tag of waiting) if (tag === deliveryTag || (allUpTo && tag < deliveryTag)) settled.set(tag, name);
    for (const tag of settled.keys()) waiting.delete(tag);
  }
  return settled;
}

describe('acks of one channel', () => {
  it('are one frame for a whole batch', async () => {
    const { acks, calls, messages } = setup(100);
    for (const message of messages) acks.ack(message);
    expect(calls).toEqual([]);
    await Promise.resolve();
    expect(calls).toEqual([['ack', messages[99], true]]);
  });

  it('never acknowledge an unacknowledged delivery', async () => {
    const { acks, calls, messages } = setup(5);
    for (const tag of [5, 1, 2, 4]) acks.ack(messages[tag - 1] as ConsumeMessage);
    await Promise.resolve();
    expect(calls).toEqual([
      ['ack', messages[1], true],
      ['ack', messages[4]],
      ['ack', messages[3]],
    ]);
  });

  it('acknowledge exactly the requested deliveries, in any order and grouping', async () => {
    const step = fc.record({
      tag: fc.integer({ min: 1, max: 30 }),
      deed: fc.constantFrom('ack', 'nack'),
      turn: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(step, { selector: ({ tag }) => tag }), async (steps) => {
        const { acks, calls, messages } = setup(30);
        for (const { tag, deed, turn } of steps) {
          const message = messages[tag - 1] as ConsumeMessage;
          if (deed === 'ack') acks.ack(message);
          else acks.nack(message, false, true);
          if (turn) await Promise.resolve();
        }
        acks.flush();
        expect(acknowledgedBy(calls, 30)).toEqual(new Map(steps.map(({ tag, deed }) => [tag, deed])));
      }),
    );
  });

  it('are dropped, with a warning, if the channel has closed', async () => {
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const { acks, messages } = setup(2, true);
    for (const message of messages) acks.ack(message);
    acks.flush();
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('the broker will redeliver 2'));
    warned.mockRestore();
  });
});

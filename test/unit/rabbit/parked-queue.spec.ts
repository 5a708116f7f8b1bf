import { Logger } from '@nestjs/common';
import { type ConfirmedPublisher } from '../../../src/rabbit/confirmed-publisher';
import { ParkedQueue } from '../../../src/rabbit/parked';
import { type Publication, type PublishOutcome } from '../../../src/rabbit/publications';
import { TopologyNames } from '../../../src/rabbit/topology';
import { ManualClock } from '../../support/manual-clock';
import { deliveryOn, recordingChannel } from './deliveries';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Parks one message on a broker that answers the first copies with `outcomes`, and all further ones like the last. */
function setup(outcomes: readonly PublishOutcome[], properties: object = {}, reason = 'no handler') {
  const clock = new ManualClock();
  const { channel, calls } = recordingChannel();
  const delivery = deliveryOn(channel, properties);
  const published: Publication[] = [];
  const publisher = {
    publish: async (publications: readonly Publication[]) => {
      expect(calls).toEqual([]);
      published.push(...publications);
      return [outcomes[Math.min(published.length, outcomes.length) - 1]];
    },
  } as unknown as ConfirmedPublisher;
  const declare = jest.fn(() => Promise.resolve());
  const queue = new ParkedQueue(publisher, new TopologyNames('ot'), clock, declare);
  const parking = queue.park(delivery, { code: 'UNKNOWN_COMMAND', reason });
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      await settled();
      clock.advance(250);
    }
    await settled();
  };
  return { clock, delivery, published, declare, parking, pass, acknowledgment: () => calls.map(([call]) => call) };
}

describe('a message that is parked', () => {
  let warned: jest.SpyInstance;
  beforeEach(() => (warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation()));
  afterEach(() => warned.mockRestore());

  it('goes to the parked queue with its reason and its own headers, and is then acknowledged', async () => {
    const headers = { traceparent: 't', 'x-death': [] };
    const sender = { appId: 'shop', correlationId: 'c-1' };
    const properties = { messageId: 'm-1', type: 'order.placed', headers, ...sender };
    const { published, parking, acknowledgment } = setup(['confirmed'], properties);
    await parking;
    expect(published).toEqual([
      {
        exchange: 'ot.parked',
        mandatory: true,
        routingKey: 'order.payment',
        body: Buffer.from('{}'),
        messageId: 'm-1',
        type: 'order.placed',
        ...sender,
        headers: { traceparent: 't', 'x-ot-error-code': 'UNKNOWN_COMMAND', 'x-ot-error-reason': 'no handler' },
      },
    ]);
    expect(acknowledgment()).toEqual(['ack']);
    expect(warned).toHaveBeenCalledWith('parked a message of "order.payment" [UNKNOWN_COMMAND]: no handler');
  });

  it('is published again with the same id until the broker confirms it', async () => {
    const { published, pass, acknowledgment } = setup(['unknown', 'nacked', 'confirmed']);
    await pass(1_000);
    expect(published.map(({ messageId }) => messageId)).toEqual(['c:7', 'c:7', 'c:7']);
    expect(acknowledgment()).toEqual(['ack']);
  });

  it.each([
    ['nacked', 'dead-lettered', 'dead-letter'],
    ['unknown', 'dead-lettered', 'dead-letter'],
    ['returned', 'left in its own queue', 'requeue'],
  ] as const)('whose copy stays %s is %s', async (outcome, _what, end) => {
    const { clock, pass, parking, delivery, acknowledgment } = setup([outcome]);
    const acknowledge = jest.spyOn(delivery, 'acknowledge');
    await pass(14_000);
    expect(acknowledgment()).toEqual([]);
    await pass(1_500);
    await parking;
    expect(acknowledge.mock.calls).toEqual([[end]]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('has its queue declared again if none takes it', async () => {
    const { declare, pass, acknowledgment } = setup(['returned', 'confirmed']);
    await pass(500);
    expect(declare).toHaveBeenCalledTimes(1);
    expect(acknowledgment()).toEqual(['ack']);
  });

  it('is left alone if it was acknowledged in the meantime', async () => {
    const { published, delivery, parking, pass } = setup(['unknown']);
    await settled();
    jest.spyOn(delivery, 'isAcknowledged', 'get').mockReturnValue(true);
    await pass(500);
    await parking;
    expect(published).toHaveLength(2);
  });

  it('is parked immediately without its own headers if they cannot be encoded again', async () => {
    const properties = { messageId: 'm-1', type: 'order.placed', headers: { tenant: 'x'.repeat(70_000) } };
    const { published, parking, acknowledgment } = setup(['unencodable', 'confirmed'], properties);
    await parking;
    expect(published).toHaveLength(2);
    expect(published[1]).toEqual({
      ...published[0],
      headers: {
        'x-ot-error-code': 'UNKNOWN_COMMAND',
        'x-ot-error-reason': 'no handler',
        'x-ot-headers-dropped': expect.any(String) as string,
      },
    });
    expect(acknowledgment()).toEqual(['ack']);
  });

  it('is dead-lettered immediately if even that cannot be encoded', async () => {
    const { published, parking, acknowledgment } = setup(['unencodable']);
    await parking;
    expect(published).toHaveLength(2);
    expect(acknowledgment()).toEqual(['nack']);
  });

  it('has an id and a type that fit into short strings, even if bytes were not UTF-8', async () => {
    const long = Buffer.alloc(200, 0xff).toString();
    const { published, parking } = setup(['confirmed'], { messageId: long, type: long });
    await parking;
    for (const text of [published[0]?.messageId, published[0]?.type]) expect(Buffer.byteLength(text ?? '')).toBe(255);
  });

  it('gets an id and a type if its sender gave none', async () => {
    const { published, parking } = setup(['confirmed']);
    await parking;
    expect(published[0]).toMatchObject({ messageId: 'c:7', type: 'order.payment' });
  });

  it('has a reason that fits into a header', async () => {
    const { published, parking } = setup(['confirmed'], {}, 'x'.repeat(1_000_000));
    await parking;
    expect(String(published[0]?.headers?.['x-ot-error-reason'])).toHaveLength(2_000);
  });
});

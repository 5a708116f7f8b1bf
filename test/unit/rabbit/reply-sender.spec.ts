import { Logger } from '@nestjs/common';
import { type Publication, type PublishOutcome } from '../../../src/rabbit/publications';
import { ReplySender } from '../../../src/rabbit/reply-sender';
import { TopologyNames } from '../../../src/rabbit/topology';
import { ManualClock } from '../../support/manual-clock';
import { deliveryOn, recordingChannel } from './deliveries';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Answers one command on a broker that reports `outcomes`, and afterward always the last of them. */
function setup(
  outcomes: readonly PublishOutcome[],
  properties: object,
  answer: unknown = { outcome: 'placed' },
  isRefusal = false,
) {
  const clock = new ManualClock();
  const published: Publication[] = [];
  const publish = async (publications: Iterable<Publication>) => {
    published.push(...publications);
    return [outcomes[Math.min(published.length, outcomes.length) - 1] ?? 'unknown'];
  };
  const delivery = deliveryOn(recordingChannel().channel, properties);
  const connection = {
    start: () => undefined,
    publisher: { publish, isReady: true },
    isThere: async (queue: string) => queue.endsWith('.here'),
  };
  const sender = new ReplySender(connection, new TopologyNames('ot'), ['q', 'ot.'], clock);
  const sent = sender.send(delivery, answer, isRefusal);
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      await settled();
      clock.advance(250);
    }
    await settled();
  };
  return { published, delivery, sent, pass, problem: sender.problemOf(delivery) };
}

describe('the answer to a command', () => {
  let warned: jest.SpyInstance;
  beforeEach(() => (warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation()));
  afterEach(() => warned.mockRestore());

  it('goes to the queue that the sender names, with its correlation id', async () => {
    const { published, sent } = setup(['confirmed'], { replyTo: 'q', correlationId: 'c-1' });
    expect(await sent).toBe(true);
    expect(published).toMatchObject([
      { exchange: '', routingKey: 'q', type: 'order.payment', correlationId: 'c-1', mandatory: true },
    ]);
    expect(published[0]?.body.toString()).toBe('{"outcome":"placed"}');
  });

  it('goes to a client that uses direct reply-to without asking the broker whether it is there', async () => {
    const { published, sent } = setup(['confirmed'], { replyTo: 'amq.rabbitmq.reply-to.g1h2' });
    expect(await sent).toBe(true);
    expect(published).toMatchObject([{ mandatory: false }]);
  });

  it.each([
    ['amq.rabbitmq.reply-to.here', true],
    ['amq.rabbitmq.reply-to.gone', false],
    ['q', true],
  ])('that refuses has arrived at %s: %s, because its command would be lost with it', async (replyTo, isAnswered) => {
    expect(await setup(['confirmed'], { replyTo }, { error: {} }, true).sent).toBe(isAnswered);
  });

  it.each<[string, object]>([
    ['wants none', {}],
    ['sends an empty text, as some clients do', { replyTo: '' }],
  ])('is not sent if the sender %s', async (_, properties) => {
    const { published, sent, problem } = setup(['confirmed'], properties);
    expect([await sent, published, problem]).toEqual([false, [], undefined]);
  });

  it.each([
    ['ot.parked', 'is a name of the service'],
    ['ot.work.order.payment', 'is a name of the service'],
    ['other', 'may not name the queue "other"'],
    ['amq.rabbitmq.other', 'may not name the queue'],
    ['order-timeout.v2.commands', 'RABBITMQ_REPLY_PREFIXES'],
    ['a\u0000b', 'must be the name of a queue'],
    ['a\uFFFDb', 'must be the name of a queue'],
    ['é'.repeat(128), 'must be the name of a queue'],
  ])('never goes to %j', async (replyTo, reason) => {
    const { published, sent, problem } = setup(['confirmed'], { replyTo });
    expect([await sent, published]).toEqual([false, []]);
    expect(problem).toMatchObject({ code: 'INVALID_REPLY_TO', reason: expect.stringContaining(reason) as string });
  });

  it.each(['amq.gen-0b1c', 'amq.rabbitmq.reply-to.g1h2', 'q', 'queue'])('may go to %j', (replyTo) => {
    expect(setup([], { replyTo }).problem).toBeUndefined();
  });

  it('is dropped at once if its queue is gone, which is no reason for a warning', async () => {
    const { published, sent } = setup(['returned'], { replyTo: 'q.gone' });
    expect([await sent, published.length]).toEqual([false, 1]);
    expect(warned).not.toHaveBeenCalled();
  });

  it('is dropped with a warning if its queue takes nothing', async () => {
    expect(await setup(['nacked'], { replyTo: 'q.full' }).sent).toBe(false);
    expect(warned).toHaveBeenCalledWith(
      'dropped an answer to the queue "q.full" (nacked); the command is not affected',
    );
  });

  it('is sent again while the broker is away, under another id', async () => {
    const { published, sent, pass } = setup(['unknown', 'unknown', 'confirmed'], { replyTo: 'q' });
    await pass(500);
    expect(await sent).toBe(true);
    expect(new Set(published.map(({ messageId }) => messageId)).size).toBe(3);
  });

  it('is sent once more to a direct address, which another one may have cost the connection, and no more', async () => {
    const { published, sent, pass } = setup(['unknown'], { replyTo: 'amq.rabbitmq.reply-to.g1h3' });
    await pass(500);
    expect([await sent, published.length]).toEqual([false, 2]);
  });

  it('keeps its command waiting for five seconds at most', async () => {
    const { sent, pass } = setup(['unknown'], { replyTo: 'q' });
    let isOver = false;
    void sent.then(() => (isOver = true));
    await pass(4_750);
    expect(isOver).toBe(false);
    await pass(500);
    expect(await sent).toBe(false);
  });

  it('is not sent again once the command was lost, because it is delivered again', async () => {
    const { sent, delivery, published } = setup(['unknown'], { replyTo: 'q' });
    delivery.forget();
    expect([await sent, published.length]).toEqual([false, 1]);
  });

  it('is null if a handler returns nothing, and is dropped if JSON cannot carry it', async () => {
    const nothing = setup(['confirmed'], { replyTo: 'q' }, null);
    await nothing.sent;
    expect(nothing.published[0]?.body.toString()).toBe('null');
    expect(await setup(['confirmed'], { replyTo: 'q' }, { amount: 1n }).sent).toBe(false);
  });
});

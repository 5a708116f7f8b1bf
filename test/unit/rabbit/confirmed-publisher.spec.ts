import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import { IllegalOperationError, type ChannelModel } from 'amqplib';
import { ConfirmedPublisher, type Publication, type PublishOutcome } from '../../../src/rabbit';
import { type RabbitConnection } from '../../../src/rabbit/rabbit-connection';
import { ManualClock } from '../delay/manual-clock';

const CONFIRM_MS = 15_000;
const ROOM_MS = 5_000;

type Answer = (error: Error | null) => void;

/** A confirm channel that writes down what it is given, and answers when the test says so. */
class FakeConfirmChannel extends EventEmitter {
  readonly sent: { readonly id: string; readonly answer: Answer }[] = [];
  refusal: Error | undefined;

  publish(_exchange: string, _key: string, _body: Buffer, { messageId }: { messageId: string }, answer: Answer): void {
    if (this.refusal) throw this.refusal;
    this.sent.push({ id: messageId, answer });
  }

  confirm(count: number): void {
    for (const { answer } of this.sent.slice(this.answered, (this.answered += count))) answer(null);
  }

  async waitForConfirms(): Promise<void> {
    return undefined;
  }

  async close(): Promise<void> {
    this.emit('close');
  }

  private answered = 0;
}

const publication = (messageId: string): Publication => ({
  exchange: 'e',
  routingKey: 'k',
  body: Buffer.from('{}'),
  messageId,
  type: 'k',
});
const named = (start: string, count: number): Publication[] =>
  Array.from({ length: count }, (_, n) => publication(`${start}${n}`));
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

describe('the window of the confirmed publisher', () => {
  let clock: ManualClock;
  let channel: FakeConfirmChannel;
  let publisher: ConfirmedPublisher;
  let connection: { isBlocked: boolean };

  beforeEach(async () => {
    Logger.overrideLogger(false);
    clock = new ManualClock();
    channel = new FakeConfirmChannel();
    const model = { createConfirmChannel: async () => channel } as unknown as ChannelModel;
    connection = {
      isBlocked: false,
      onConnect: (listener: (connected: ChannelModel) => void) => {
        listener(model);
        return () => undefined;
      },
    } as unknown as RabbitConnection;
    publisher = await open(3);
  });

  const open = async (window: number): Promise<ConfirmedPublisher> => {
    const plan = { window, confirmTimeoutMs: CONFIRM_MS, prepare: async () => undefined };
    const opened = new ConfirmedPublisher(connection as unknown as RabbitConnection, clock, plan);
    await settled();
    return opened;
  };

  const sentIds = (): string[] => channel.sent.map(({ id }) => id);

  it('sends the publications of several calls in the order of the calls, as there is room', async () => {
    const first = publisher.publish(named('a', 4));
    const second = publisher.publish(named('b', 3));
    expect(sentIds()).toEqual(['a0', 'a1', 'a2']);
    channel.confirm(1);
    expect(sentIds()).toEqual(['a0', 'a1', 'a2', 'a3']);
    channel.confirm(2);
    expect(sentIds()).toEqual(['a0', 'a1', 'a2', 'a3', 'b0', 'b1']);
    channel.confirm(3);
    channel.confirm(1);
    expect(await Promise.all([first, second])).toEqual([
      new Array<PublishOutcome>(4).fill('confirmed'),
      new Array<PublishOutcome>(3).fill('confirmed'),
    ]);
  });

  it('fills a large window up again once a quarter of it is free, not message by message', async () => {
    void (await open(8)).publish(named('a', 20));
    expect(sentIds()).toHaveLength(8);
    channel.confirm(1);
    expect(sentIds()).toHaveLength(8);
    channel.confirm(1);
    expect(sentIds()).toHaveLength(10);
  });

  it('asks for a publication only when there is room for it', () => {
    const asked: string[] = [];
    function* all(): Generator<Publication> {
      for (const each of named('a', 5)) {
        asked.push(each.messageId);
        yield each;
      }
    }
    void publisher.publish(all());
    expect(asked).toEqual(['a0', 'a1', 'a2']);
    channel.confirm(1);
    expect(asked).toEqual(['a0', 'a1', 'a2', 'a3']);
  });

  it('calls unknown what the broker has not answered for in time, the oldest first, and goes on', async () => {
    const first = publisher.publish(named('a', 1));
    clock.advance(CONFIRM_MS - 1_000);
    const second = publisher.publish(named('b', 1));
    clock.advance(1_000);
    expect(await first).toEqual(['unknown']);
    clock.advance(CONFIRM_MS - 1_001);
    const third = publisher.publish(named('c', 1));
    clock.advance(1);
    expect(await second).toEqual(['unknown']);
    channel.confirm(3);
    expect(await third).toEqual(['confirmed']);
  });

  it('calls unknown, and never sends, what finds no room for long', async () => {
    const publishing = publisher.publish(named('a', 5));
    clock.advance(ROOM_MS);
    channel.confirm(3);
    expect(await publishing).toEqual(['confirmed', 'confirmed', 'confirmed', 'unknown', 'unknown']);
    expect(sentIds()).toEqual(['a0', 'a1', 'a2']);
    expect(publisher.longestMs).toBe(ROOM_MS + CONFIRM_MS);
  });

  it('marks every message in hand that was returned, before it is confirmed', async () => {
    const publishing = publisher.publish(named('a', 2));
    channel.emit('return', { properties: { messageId: 'a1' } });
    channel.confirm(2);
    expect(await publishing).toEqual(['confirmed', 'returned']);
  });

  it('answers for what cannot be sent, and sends what comes behind it', async () => {
    channel.refusal = new TypeError('too long');
    expect(await publisher.publish(named('a', 4))).toEqual(new Array<PublishOutcome>(4).fill('unencodable'));
    channel.refusal = new IllegalOperationError('closed', '');
    expect(await publisher.publish(named('b', 1))).toEqual(['unknown']);
    channel.refusal = undefined;
    const publishing = publisher.publish(named('c', 1));
    channel.confirm(1);
    expect(await publishing).toEqual(['confirmed']);
  });

  it('answers for everything that waits once the broker blocks', async () => {
    const publishing = publisher.publish(named('a', 6));
    connection.isBlocked = true;
    expect(publisher.isReady).toBe(false);
    channel.confirm(3);
    expect(await publishing).toEqual(['confirmed', 'confirmed', 'confirmed', 'unknown', 'unknown', 'unknown']);
  });

  it('answers for everything, sent or not, and leaves no timer when it is closed', async () => {
    const publishing = publisher.publish(named('a', 5));
    const closing = publisher.close();
    await settled();
    await closing;
    expect(await publishing).toEqual(new Array<PublishOutcome>(5).fill('unknown'));
    expect(clock.pendingTimers).toBe(0);
  });

  it('has nothing to say about nothing', async () => {
    expect(await publisher.publish([])).toEqual([]);
  });
});

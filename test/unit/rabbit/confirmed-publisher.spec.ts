import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import { IllegalOperationError, type ChannelModel } from 'amqplib';
import { ConfirmedPublisher, type Publication, type PublishOutcome, type PublishWatch } from '../../../src/rabbit';
import { type RabbitConnection } from '../../../src/rabbit/rabbit-connection';
import { ManualClock } from '../../support/manual-clock';

const CONFIRM_MS = 15_000;
const ROOM_MS = 5_000;
const LATE_MS = 500;

type Answer = (error: Error | null) => void;

/** A confirm channel that records its messages and answers when the test says so. */
class FakeConfirmChannel extends EventEmitter {
  readonly sent: { readonly id: string; readonly answer: Answer }[] = [];
  refusal: Error | undefined;

  /** Makes `publish` return false: the message is kept, and no more are wanted before `drain`. */
  isFull = false;

  publish(_e: string, _key: string, _body: Buffer, { messageId }: { messageId: string }, answer: Answer): boolean {
    if (this.refusal) throw this.refusal;
    this.sent.push({ id: messageId, answer });
    return !this.isFull;
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
    const model = { createConfirmChannel: async () => (channel = new FakeConfirmChannel()) } as unknown as ChannelModel;
    connection = {
      isBlocked: false,
      model,
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

  it('sends the publications of several calls in the order of the calls, as room becomes free', async () => {
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

  it('refills a large window once a quarter of it is free, not message by message', async () => {
    void (await open(8)).publish(named('a', 20));
    expect(sentIds()).toHaveLength(8);
    channel.confirm(1);
    expect(sentIds()).toHaveLength(8);
    channel.confirm(1);
    expect(sentIds()).toHaveLength(10);
  });

  it('takes a publication only when there is room for it', () => {
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

  it('reports unknown for publications without an answer in time, the oldest first, and continues', async () => {
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

  it('sends no more while the socket is full, and reports unknown for publications that find no room in time', async () => {
    channel.isFull = true;
    const publishing = publisher.publish(named('a', 2));
    expect(sentIds()).toEqual(['a0']);
    expect(publisher.isReady).toBe(false);
    clock.advance(ROOM_MS);
    channel.confirm(1);
    expect(await publishing).toEqual(['confirmed', 'unknown']);
    expect(publisher.longestMs).toBe(ROOM_MS + CONFIRM_MS);
    channel.isFull = false;
    const later = publisher.publish(named('b', 1));
    channel.emit('drain');
    expect(sentIds()).toEqual(['a0', 'b0']);
    expect(publisher.isReady).toBe(true);
    channel.confirm(1);
    expect(await later).toEqual(['confirmed']);
  });

  describe('with a watch', () => {
    let told: string[];
    const watch: PublishWatch = {
      refused: (index, reason) => told.push(`${index} refused: ${reason}`),
      answered: (index, outcome) => told.push(`${index} ${outcome}`),
      timedOut: (index) => told.push(`${index} timed out`),
    };

    beforeEach(() => {
      told = [];
    });

    it('removes late publications from the window and the call, and reports their outcome', async () => {
      const first = publisher.publish(named('a', 4), watch);
      expect(sentIds()).toEqual(['a0', 'a1', 'a2']);
      clock.advance(LATE_MS - 1);
      expect(sentIds()).toHaveLength(3);
      clock.advance(1);
      expect(sentIds()).toHaveLength(4);
      channel.sent[3]?.answer(null);
      expect(await first).toEqual(['late', 'late', 'late', 'confirmed']);
      channel.sent[1]?.answer(null);
      channel.sent[2]?.answer(new Error('message nacked'));
      clock.advance(CONFIRM_MS - LATE_MS);
      expect(told).toEqual(['1 confirmed', '2 nacked', '0 timed out']);
      channel.sent[0]?.answer(null);
      expect(told.slice(3)).toEqual(['0 confirmed']);
      expect(clock.pendingTimers).toBe(0);
    });

    it('is punctual until the broker has owed a confirm for five seconds, and again once it arrives', async () => {
      void publisher.publish(named('a', 2), watch);
      channel.sent[1]?.answer(null);
      clock.advance(4_999);
      expect(publisher.isPunctual).toBe(true);
      clock.advance(60_000);
      expect(publisher.isPunctual).toBe(false);
      channel.sent[0]?.answer(null);
      expect(publisher.isPunctual).toBe(true);
    });

    it('reports late publications when the channel closes', async () => {
      void publisher.publish(named('a', 1), watch);
      clock.advance(CONFIRM_MS);
      channel.emit('close');
      expect(told).toEqual(['0 timed out', '0 unknown']);
      expect(publisher.isPunctual).toBe(true);
    });

    it('forgets publications that an open channel has not answered for in five minutes', async () => {
      void publisher.publish(named('a', 1), watch);
      clock.advance(300_000);
      channel.confirm(1);
      expect(told).toEqual(['0 timed out']);
      expect(clock.pendingTimers).toBe(0);
    });

    it('detects the body that was too large if that closes the channel, and sends no such body again', async () => {
      const sized = (bytes: number): Publication => ({ ...publication(`of ${bytes}`), body: Buffer.alloc(bytes) });
      const publishing = publisher.publish([sized(10), sized(101), sized(100)], watch);
      const text = 'PRECONDITION_FAILED - message size 101 is larger than configured max size 100';
      channel.emit('error', new Error(`Channel closed by server: 406 (PRECONDITION-FAILED) with message "${text}"`));
      channel.emit('close');
      expect(await publishing).toEqual(['unknown', 'too-large', 'unknown']);
      expect(told).toEqual([`1 refused: a body of 101 bytes; the broker's max_message_size is 100`]);
      clock.advance(100);
      await settled();
      expect(publisher.isReady).toBe(true);
      expect(await publisher.publish([sized(500)], watch)).toEqual(['too-large']);
      expect(sentIds()).toEqual([]);
    });
  });

  it('marks every unconfirmed message that was returned, before it is confirmed', async () => {
    const publishing = publisher.publish(named('a', 2));
    channel.emit('return', { properties: { messageId: 'a1' } });
    channel.confirm(2);
    expect(await publishing).toEqual(['confirmed', 'returned']);
  });

  it('settles a message that cannot be sent, and sends the next ones', async () => {
    channel.refusal = new TypeError('too long');
    expect(await publisher.publish(named('a', 4))).toEqual(new Array<PublishOutcome>(4).fill('unencodable'));
    channel.refusal = new IllegalOperationError('closed', '');
    expect(await publisher.publish(named('b', 1))).toEqual(['unknown']);
    channel.refusal = undefined;
    const publishing = publisher.publish(named('c', 1));
    channel.confirm(1);
    expect(await publishing).toEqual(['confirmed']);
  });

  it('settles every waiting publication once the broker blocks', async () => {
    const publishing = publisher.publish(named('a', 6));
    connection.isBlocked = true;
    expect(publisher.isReady).toBe(false);
    channel.confirm(3);
    expect(await publishing).toEqual(['confirmed', 'confirmed', 'confirmed', 'unknown', 'unknown', 'unknown']);
  });

  it('settles every publication, sent or not, and leaves no timer when it is closed', async () => {
    const publishing = publisher.publish(named('a', 5));
    const closing = publisher.close();
    await settled();
    await closing;
    expect(await publishing).toEqual(new Array<PublishOutcome>(5).fill('unknown'));
    expect(clock.pendingTimers).toBe(0);
  });

  it('returns no outcomes for no publications', async () => {
    expect(await publisher.publish([])).toEqual([]);
  });
});

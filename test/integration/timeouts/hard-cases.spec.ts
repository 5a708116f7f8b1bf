import { type EntityManager } from 'typeorm';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  ParkedTimeouts,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutHandlerSingle,
  type TimeoutOutcome,
} from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

/** One bad timeout, message or answer must not stop the others. */

@TimeoutHandler('hard.single', { maxAttempts: 2, batchSize: 10, prefetch: 5 })
class Single implements TimeoutHandlerSingle {
  behavior: (due: DueTimeout, tx: EntityManager) => Promise<TimeoutOutcome | void> = async () => DONE;

  handle(due: DueTimeout, tx: EntityManager): Promise<TimeoutOutcome | void> {
    return this.behavior(due, tx);
  }
}

@TimeoutHandler('hard.asking', { maxAttempts: 2, leaseMs: 3_000, lookUpConcurrency: 2, batchSize: 10 })
class Asking implements TimeoutHandlerBatch<string | undefined> {
  asked = 0;
  answer: (due: DueTimeout, signal: AbortSignal) => Promise<string | undefined> = async () => 'yes';

  async handleBatch(due: readonly DueTimeout<string | undefined>[]): Promise<TimeoutOutcome[]> {
    return due.map(({ answer }) => (answer === undefined ? LOOK_UP : DONE));
  }

  lookUp(due: DueTimeout, signal: AbortSignal): Promise<string | undefined> {
    this.asked++;
    return this.answer(due, signal);
  }
}

describe('the engine facing one bad timeout', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let direct: ChannelModel;
  let channel: Channel;
  let engine: TestEngine;
  let single: Single;
  let asking: Asking;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
  });

  beforeEach(async () => {
    single = new Single();
    asking = new Asking();
    engine = await startEngine(database, vhost.url, [single, asking], { shutdownTimeoutMs: 500 });
    await until(() => engine.engine.isMessagePathUp);
  });

  afterEach(async () => {
    await engine.close();
    await database.dataSource.query('TRUNCATE order_timeout.timeout, order_timeout.outbox');
    for (const queue of ['work.hard.single', 'work.hard.asking', 'parked'])
      await channel.purgeQueue(`order-timeout.v1.${queue}`);
  });

  afterAll(async () => {
    await direct.close();
    await database.drop();
    await vhost.drop();
  });

  const schedule = (kind: string, keys: string[], afterMs = 0): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind, key, afterMs })),
        { tx },
      ),
    );
  const sendToWork = (body: object): boolean =>
    channel.publish('order-timeout.v1.work', 'hard.single', Buffer.from(JSON.stringify(body)), { persistent: true });
  const parkedKeys = async (): Promise<string[]> =>
    (await engine.module.get(ParkedTimeouts).list()).map(({ key }) => key);
  const replayFailed = (): Promise<unknown> =>
    database.dataSource.query(`UPDATE order_timeout.timeout SET next_attempt_at = now() WHERE attempts > 0`);
  const good = ['good-1', 'good-2', 'good-3', 'good-4'];

  it('counts a connection error of the handler’s own, and handles the others', async () => {
    single.behavior = async ({ key }) => {
      if (key === 'bad') throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:443'), { code: 'ECONNREFUSED' });
      return DONE;
    };
    await schedule('hard.single', ['bad', ...good]);
    await engine.settled.done(4, 3_000);
    await engine.settled.until((rows) => rows.some(({ due }) => due.key === 'bad'), 3_000);
  });

  it.each([
    ['a NUL byte', 'binary \0 answer'],
    ['an emoji at the cut', `${'x'.repeat(1_999)}😀`],
  ])('parks a timeout whose error has %s', async (_name, message) => {
    single.behavior = async () => {
      throw new Error(message);
    };
    await schedule('hard.single', ['odd']);
    await engine.settled.until((rows) => rows.length > 0, 3_000);
    await replayFailed();
    engine.scheduler.wake([{ kind: 'hard.single', key: 'odd' }]);
    await until(async () => (await parkedKeys()).includes('odd'), 3_000);
  });

  it.each([
    ['a generation that no bigint can hold', { generation: '9'.repeat(19), key: 'x' }],
    ['a key that no text can hold', { generation: '1', key: 'a\0b' }],
  ])('parks a message with %s, and handles the others', async (_name, odd) => {
    sendToWork({ kind: 'hard.single', dueAt: 1, ...odd });
    await until(async () => (await channel.checkQueue('order-timeout.v1.parked')).messageCount === 1, 3_000);
    await schedule('hard.single', good);
    await engine.settled.done(4, 3_000);
  });

  it('is not held up by messages that are far too early', async () => {
    const later = Date.now() + 3_600_000;
    for (let n = 0; n < 5; n++) sendToWork({ kind: 'hard.single', key: `nobody-${n}`, generation: '1', dueAt: later });
    await until(async () => (await channel.checkQueue('order-timeout.v1.work.hard.single')).messageCount === 0);
    await schedule('hard.single', good);
    await engine.settled.done(4, 3_000);
  });

  it('counts an ask that answers nothing, instead of asking forever', async () => {
    asking.answer = async () => undefined;
    await schedule('hard.asking', ['silent']);
    await engine.settled.until((rows) => rows.some(({ outcome }) => outcome.type === 'retry'), 3_000);
    expect(asking.asked).toBe(1);
  });

  it('goes on when asks hang and do not obey their signal', async () => {
    asking.answer = ({ key }) => (key.startsWith('hang') ? new Promise(() => undefined) : Promise.resolve('yes'));
    await schedule('hard.asking', ['hang-1', 'hang-2']);
    await until(() => asking.asked === 2);
    await schedule('hard.asking', good);
    await engine.settled.done(4, 4_000);
  });

  it('writes other answers while somebody else has one of the asked rows locked', async () => {
    let answerAll = (): void => undefined;
    const answered = new Promise<string>((resolve) => (answerAll = () => resolve('yes')));
    asking.answer = () => answered;
    await schedule('hard.asking', ['locked', 'free']);
    await until(() => asking.asked === 2);
    await database.dataSource.transaction(async (tx) => {
      await tx.query(`SELECT 1 FROM order_timeout.timeout WHERE key = 'locked' FOR UPDATE`);
      answerAll();
      await engine.settled.done(1, 3_000);
    });
    expect(engine.settled.rows.at(-1)?.due.key).toBe('free');
  });

  it('leaves the attempt of a question uncounted when the lease has gone to somebody else', async () => {
    let refuse = (): void => undefined;
    asking.answer = () => new Promise((_resolve, reject) => (refuse = () => reject(new Error('too late'))));
    await schedule('hard.asking', ['taken']);
    await until(() => asking.asked === 1);
    const taken = `UPDATE order_timeout.timeout SET lease = gen_random_uuid(), next_attempt_at = now() + interval '9s'`;
    await database.dataSource.query(taken);
    refuse();
    await until(() => engine.settled.rows.length > 1, 500).catch(() => undefined);
    const [row] = await database.dataSource.query<{ attempts: number; lease: string | null }[]>(
      'SELECT attempts, lease FROM order_timeout.timeout',
    );
    expect(row).toEqual({ attempts: 0, lease: expect.any(String) as string });
  });

  it('counts no attempt for a question that the shutdown cut short', async () => {
    asking.answer = (_due, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
    await schedule('hard.asking', ['cut']);
    await until(() => asking.asked === 1);
    await engine.close();
    const [row] = await database.dataSource.query<{ attempts: number }[]>('SELECT attempts FROM order_timeout.timeout');
    expect(row).toEqual({ attempts: 0 });
  });
});

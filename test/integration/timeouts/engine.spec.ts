import { type EntityManager } from 'typeorm';
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
import { DuplicateTimeoutHandlerError, MissingTimeoutHandlerError } from '../../../src/timeouts/model/errors';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

@TimeoutHandler('test.single', { maxAttempts: 2 })
class Single implements TimeoutHandlerSingle {
  readonly seen: DueTimeout[] = [];
  behavior: (due: DueTimeout, tx: EntityManager) => Promise<TimeoutOutcome | void> = async () => DONE;

  async handle(due: DueTimeout, tx: EntityManager): Promise<TimeoutOutcome | void> {
    this.seen.push(due);
    return this.behavior(due, tx);
  }
}

@TimeoutHandler('test.batch', { batchSize: 50, leaseMs: 3_000 })
class Batch implements TimeoutHandlerBatch<string> {
  readonly batches: number[] = [];
  behavior: (due: DueTimeout<string>) => TimeoutOutcome = () => DONE;
  answer: (due: DueTimeout) => Promise<string> = async () => 'yes';

  async handleBatch(due: readonly DueTimeout<string>[]): Promise<TimeoutOutcome[]> {
    this.batches.push(due.length);
    return due.map((timeout) => this.behavior(timeout));
  }

  lookUp(due: DueTimeout): Promise<string> {
    return this.answer(due);
  }
}

describe.each([['ladder'], ['none']] as const)('the engine with transport %s', (transport) => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let engine: TestEngine;
  let single: Single;
  let batch: Batch;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  });

  beforeEach(async () => {
    single = new Single();
    batch = new Batch();
    engine = await startEngine(database, vhost.url, [single, batch], { transport });
    if (transport === 'ladder') await until(() => engine.engine.isMessagePathUp);
  });

  afterEach(async () => {
    await engine.close();
    await database.dataSource.query('TRUNCATE order_timeout.timeout, order_timeout.outbox');
  });

  afterAll(async () => {
    await database.drop();
    await vhost.drop();
  });

  const schedule = (kind: string, keys: string[], afterMs: number): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind, key, afterMs, payload: { key } })),
        { tx },
      ),
    );

  it('handles every timeout once, never early, and deletes its row', async () => {
    const delays = [0, 1, 5, 50, 127, 128, 300, 999, 1_000, 1_001, 1_700, 2_300];
    await Promise.all(delays.map((ms) => schedule('test.single', [`after-${ms}`], ms)));
    const rows = await engine.settled.done(delays.length);
    expect(rows.map(({ due }) => due.key).sort()).toEqual(delays.map((ms) => `after-${ms}`).sort());
    expect(Math.min(...rows.map(({ lateMs }) => lateMs))).toBeGreaterThanOrEqual(0);
    expect(single.seen.find(({ key }) => key === 'after-0')?.payload).toEqual({ key: 'after-0' });
    expect(await database.dataSource.query('SELECT * FROM order_timeout.timeout')).toEqual([]);
  });

  it('does not know a timeout whose transaction rolled back', async () => {
    const fault = new Error('host changed its mind');
    const attempt = database.dataSource.transaction(async (tx) => {
      await engine.scheduler.schedule([{ kind: 'test.single', key: 'undone', afterMs: 0 }], { tx });
      throw fault;
    });
    await expect(attempt).rejects.toBe(fault);
    await schedule('test.single', ['kept'], 0);
    await engine.settled.done(1);
    expect(single.seen.map(({ key }) => key)).toEqual(['kept']);
  });

  it('takes the newer deadline when the same key is scheduled again, and nothing for a cancelled one', async () => {
    const requestOf = (key: string, afterMs: number) => ({ kind: 'test.single', key, afterMs });
    // The wake-ups of the first deadlines leave when it commits, so none of them can pass before.
    await database.dataSource.transaction(async (tx) => {
      await engine.scheduler.schedule([requestOf('moved', 150), requestOf('cancelled', 150)], { tx });
      await engine.scheduler.schedule([requestOf('moved', 600)], { tx });
      await engine.scheduler.cancel([{ kind: 'test.single', key: 'cancelled' }], { tx });
    });
    const [row] = await engine.settled.done(1);
    await schedule('test.single', ['later'], 100);
    await engine.settled.done(2);
    expect(single.seen.map(({ key }) => key)).toEqual(['moved', 'later']);
    expect(row?.lateMs).toBeGreaterThanOrEqual(0);
  });

  it('parks what keeps failing after its attempts, with the reason, and replays it on demand', async () => {
    single.behavior = async () => ({ type: 'retry', reason: 'still broken', afterMs: 30, counted: true });
    await schedule('test.single', ['poor'], 0);
    await engine.settled.until((rows) => rows.some(({ outcome }) => outcome.type === 'park'));
    const parked = engine.module.get(ParkedTimeouts);
    expect(await parked.list()).toMatchObject([
      { key: 'poor', attempts: 2, lastError: 'still broken', state: 'parked' },
    ]);
    single.behavior = async () => DONE;
    expect(await parked.replay([{ kind: 'test.single', key: 'poor' }])).toBe(1);
    await engine.settled.done(1);
    expect(await parked.list()).toEqual([]);
  });

  it('lets one throwing timeout fall out of its batch without harm to the others', async () => {
    batch.behavior = ({ key }) => {
      if (key === 'bad') throw new Error('cannot be handled');
      return DONE;
    };
    await schedule('test.batch', [...Array.from({ length: 30 }, (_, n) => `good-${n}`), 'bad'], 50);
    await engine.settled.done(30);
    await engine.settled.until((rows) => rows.some(({ due }) => due.key === 'bad'));
    expect(await engine.scheduler.pending({ kind: 'test.batch' })).toMatchObject([
      { key: 'bad', attempts: 1, lastError: 'cannot be handled' },
    ]);
  });

  it('asks outside the transaction and settles with the answer', async () => {
    batch.behavior = ({ answer }) => (answer === undefined ? LOOK_UP : { type: 'park', reason: `answered ${answer}` });
    batch.answer = async ({ key }) => `for ${key}`;
    await schedule('test.batch', ['a', 'b'], 0);
    await engine.settled.until((rows) => rows.filter(({ outcome }) => outcome.type === 'park').length === 2);
    const parked = await engine.module.get(ParkedTimeouts).list();
    expect(parked.map(({ lastError }) => lastError)).toEqual(['answered for a', 'answered for b']);
  });

  it('does not count waits that are nobody’s fault', async () => {
    let asked = 0;
    batch.behavior = ({ answer }) =>
      answer === undefined
        ? LOOK_UP
        : answer === 'down'
          ? { type: 'retry', reason: 'down', afterMs: 10, counted: false }
          : DONE;
    batch.answer = async () => (++asked < 8 ? 'down' : 'up');
    await schedule('test.batch', ['patient'], 0);
    const rows = await engine.settled.done(1);
    expect(rows.at(-1)?.due.attempts).toBe(0);
  });

  it('handles a burst in batches', async () => {
    const keys = Array.from({ length: 500 }, (_, n) => `burst-${n}`);
    await schedule('test.batch', keys, 400);
    const rows = await engine.settled.done(500);
    expect(new Set(rows.map(({ due }) => due.key)).size).toBe(500);
    expect(Math.max(...batch.batches)).toBeGreaterThan(10);
  });

  it('refuses to start while timeouts of an unknown kind are pending', async () => {
    await database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at) VALUES ('gone', 'x', 1, now(), now())`,
    );
    await expect(startEngine(database, vhost.url, [single], { transport })).rejects.toThrow(MissingTimeoutHandlerError);
  });

  it('refuses two handlers of one kind, naming both', async () => {
    const twice = startEngine(database, vhost.url, [new Single(), new Single()], { transport });
    await expect(twice).rejects.toThrow(DuplicateTimeoutHandlerError);
  });
});

import { execFileSync } from 'node:child_process';
import {
  InvalidTimeoutError,
  type ScheduledTimeout,
  TimeoutHandler,
  type TimeoutHandlerSingle,
} from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine } from '../../support/engine';

const KIND = 'later';
const AFTER_MS = 3_600_000;

@TimeoutHandler(KIND)
class Later implements TimeoutHandlerSingle {
  async handle(): Promise<void> {}
}

describe('timeouts scheduled without a transaction of the host', () => {
  let database: TestDatabase;
  let engine: TestEngine;

  beforeAll(async () => {
    database = await createDatabase();
    // Nothing is asked of the broker.
    engine = await startEngine(database, 'amqp://127.0.0.1:1', [new Later()], { transport: 'none' });
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  const schedule = (...keys: string[]): Promise<ScheduledTimeout[]> =>
    engine.scheduler.schedule(keys.map((key) => ({ kind: KIND, key, afterMs: AFTER_MS })));
  const keysIn = async (prefix: string): Promise<{ keys: number; transactions: number }> => {
    const [row] = await database.dataSource.query<{ keys: number; transactions: number }[]>(
      `SELECT count(*)::int AS keys, count(DISTINCT xmin::text)::int AS transactions
         FROM order_timeout.timeout WHERE key LIKE $1 || '%'`,
      [prefix],
    );
    return row ?? { keys: 0, transactions: 0 };
  };

  it('share transactions when they come at the same time, and each caller gets his own', async () => {
    const keys = Array.from({ length: 60 }, (_, n) => `shared-${n}`);
    const answers = await Promise.all(keys.map((key) => schedule(key)));
    expect(answers.map((own) => own.map(({ key }) => key))).toEqual(keys.map((key) => [key]));
    expect(await keysIn('shared')).toEqual({ keys: 60, transactions: 3 });
  });

  it('are durable when the promise resolves, a long list in a transaction of its own', async () => {
    const keys = Array.from({ length: 101 }, (_, n) => `many-${n}`);
    expect(await schedule(...keys)).toHaveLength(101);
    expect(await keysIn('many')).toEqual({ keys: 101, transactions: 1 });
    expect(await schedule()).toEqual([]);
  });

  it('do no harm to others when they are refused', async () => {
    const good = Array.from({ length: 5 }, (_, n) => schedule(`good-${n}`));
    await expect(schedule('')).rejects.toThrow(InvalidTimeoutError);
    await Promise.all(good);
    expect((await keysIn('good')).keys).toBe(5);
  });

  it('of the same key count one after the other: the last generation is the one that is there', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => schedule('again')));
    const found = await engine.scheduler.find({ kind: KIND, key: 'again' });
    const generations = answers.map(([own]) => own?.generation);
    expect(new Set(generations).size).toBe(4);
    expect(found?.generation).toBe(generations.at(-1));
  });

  it('are canceled in a transaction of their own, or in that of the host', async () => {
    const refs = (await schedule('off-1', 'off-2', 'off-3')).map(({ kind, key }) => ({ kind, key }));
    const runner = database.dataSource.createQueryRunner();
    await runner.startTransaction();
    expect(await engine.scheduler.cancel(refs, { tx: runner.manager })).toBe(3);
    await runner.rollbackTransaction();
    await runner.release();
    expect((await keysIn('off')).keys).toBe(3);
    expect(await engine.scheduler.cancel([...refs, { kind: KIND, key: 'none' }])).toBe(3);
    expect((await keysIn('off')).keys).toBe(0);
    expect(await engine.scheduler.cancel([])).toBe(0);
  });

  it('wait for a row that somebody holds without holding up the others', async () => {
    await schedule('held');
    const runner = database.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query(`SELECT 1 FROM order_timeout.timeout WHERE key = 'held' FOR UPDATE`);
    let isHeld = true;
    const held = schedule('held').finally(() => (isHeld = false));
    await Promise.all(Array.from({ length: 20 }, (_, n) => schedule(`free-${n}`)));
    expect(isHeld).toBe(true);
    await runner.commitTransaction();
    await runner.release();
    expect(await held).toMatchObject([{ key: 'held' }]);
  });

  it('may be 150 000 at once, more than a function takes as arguments', async () => {
    const keys = Array.from({ length: 150_000 }, (_, n) => `crowd-${n}`);
    const crowd = keys.map((key) => ({ kind: KIND, key, afterMs: AFTER_MS }));
    const scheduled = engine.scheduler.schedule(crowd);
    // Between two parts, a busy machine may let this process wait for longer than a transaction may otherwise pause.
    setTimeout(() => execFileSync('sleep', ['5.5']), 500);
    expect(await scheduled).toHaveLength(150_000);
    expect(await keysIn('crowd')).toEqual({ keys: 150_000, transactions: 1 });
  });
});

import { type DataSource, type EntityManager } from 'typeorm';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
} from '../../../src/timeouts';
import { connectTo, createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

/** Its effect is a row in a table without any unique key: a second effect would be seen. */
@TimeoutHandler('twin', { batchSize: 20, lookUpConcurrency: 1, leaseMs: 60_000 })
class Twin implements TimeoutHandlerBatch<string> {
  asks = false;
  asked = 0;
  answer: () => Promise<string> = async () => this.name;

  constructor(readonly name: string) {}

  async handleBatch(due: readonly DueTimeout<string>[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const outcomes = due.map(({ answer }) => (this.asks && answer === undefined ? LOOK_UP : DONE));
    const done = due.filter((_, index) => outcomes[index] === DONE);
    await tx.query('INSERT INTO effect SELECT unnest($1::text[]), $2', [done.map(({ key }) => key), this.name]);
    return outcomes;
  }

  lookUp(): Promise<string> {
    this.asked++;
    return this.answer();
  }
}

describe('two engines on one database', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let other: DataSource;
  let engines: TestEngine[];

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    await database.dataSource.query('CREATE TABLE effect (key text, by text)');
    other = await connectTo(database.url, 10);
  });

  beforeEach(() => {
    engines = [];
  });

  afterEach(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await database.dataSource.query('TRUNCATE order_timeout.timeout, order_timeout.outbox, effect');
  });

  afterAll(async () => {
    await other.destroy();
    await database.drop();
    await vhost.drop();
  });

  const start = async (twin: Twin, dataSource: DataSource, transport: 'ladder' | 'none'): Promise<TestEngine> => {
    const engine = await startEngine(database, vhost.url, [twin], { dataSource, transport });
    engines.push(engine);
    if (transport === 'ladder') await until(() => engine.engine.isMessagePathUp);
    return engine;
  };
  const schedule = (engine: TestEngine, keys: string[], afterMs: number): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind: 'twin', key, afterMs })),
        { tx },
      ),
    );
  const effects = (): Promise<{ key: string; by: string }[]> => database.dataSource.query('SELECT * FROM effect');
  const pending = async (): Promise<number> => {
    const [row] = await database.dataSource.query<{ count: string }[]>('SELECT count(*) FROM order_timeout.timeout');
    return Number(row?.count);
  };

  it.each(['ladder', 'none'] as const)('do each timeout once, transport %s, both taking part', async (transport) => {
    const one = await start(new Twin('one'), database.dataSource, transport);
    await start(new Twin('two'), other, transport);
    const keys = Array.from({ length: 600 }, (_, n) => `k-${n}`);
    // Due beyond the look-ahead of either, so that both find the same rows.
    await schedule(one, keys, 2_500);
    // Reads wake them as well, at the worst moment.
    const waking = until(async () => {
      for (const engine of engines) engine.scheduler.wake(keys.slice(0, 50).map((key) => ({ kind: 'twin', key })));
      return (await pending()) === 0;
    });
    await waking;
    const done = await effects();
    expect(done.map(({ key }) => key).sort()).toEqual([...keys].sort());
    expect(new Set(done.map(({ by }) => by))).toEqual(new Set(['one', 'two']));
  });

  it('write one outcome when the lease goes over to the other while the first question hangs', async () => {
    const hanging = new Twin('hanging');
    const quick = new Twin('quick');
    hanging.asks = quick.asks = true;
    let answerLate = (): void => undefined;
    hanging.answer = () => new Promise((resolve) => (answerLate = () => resolve('late')));
    const first = await start(hanging, database.dataSource, 'none');
    await schedule(first, ['taken-over'], 0);
    await until(() => hanging.asked === 1);
    // Its one question is open, so it takes nothing else; the other one comes when the lease is over.
    await database.dataSource.query('UPDATE order_timeout.timeout SET next_attempt_at = now()');
    let answerInTime = (): void => undefined;
    quick.answer = () => new Promise((resolve) => (answerInTime = () => resolve('in time')));
    await start(quick, other, 'none');
    await until(() => quick.asked === 1);
    answerLate();
    await first.close();
    expect(await effects()).toEqual([]);
    answerInTime();
    await until(async () => (await pending()) === 0);
    expect(await effects()).toEqual([{ key: 'taken-over', by: 'quick' }]);
    expect(hanging.asked).toBe(1);
    expect(quick.asked).toBe(1);
  });

  it('let one finish what the other was stopped over', async () => {
    const stopped = new Twin('stopped');
    const staying = new Twin('staying');
    const first = await start(stopped, database.dataSource, 'ladder');
    const keys = Array.from({ length: 200 }, (_, n) => `s-${n}`);
    await schedule(first, keys, 1_200);
    await start(staying, other, 'ladder');
    await until(async () => (await pending()) < keys.length);
    await first.close();
    await until(async () => (await pending()) === 0);
    expect((await effects()).map(({ key }) => key).sort()).toEqual([...keys].sort());
  });
});

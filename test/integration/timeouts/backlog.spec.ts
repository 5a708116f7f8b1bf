import { connect, type ChannelModel } from 'amqplib';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  TimeoutObservers,
  type TimeoutOutcome,
} from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { stretched } from '../../support/machine-load';

const KIND = 'burst';
const COUNT = 1_000;
const PREFETCH = 300;
const LARGE = 6_000;
/** A sweep that helps would take the place of the messages on a busy machine. */
const LATE_SWEEP = { marginMs: 3_600_000 };

@TimeoutHandler(KIND, { prefetch: PREFETCH, batchSize: 50 })
class Burst implements TimeoutHandlerBatch {
  readonly seen: DueTimeout[] = [];
  /** How long a batch takes. */
  batchMs = 0;
  private gate: Promise<void> | undefined;

  /** No batch ends until the result is called. */
  shut(): () => void {
    let open = (): void => undefined;
    this.gate = new Promise((resolve) => (open = resolve));
    return open;
  }

  async handleBatch(due: readonly DueTimeout[]): Promise<TimeoutOutcome[]> {
    this.seen.push(...due);
    await this.gate;
    if (this.batchMs > 0) await new Promise((resolve) => setTimeout(resolve, this.batchMs));
    return due.map(() => DONE);
  }
}

describe('more due at once than deliveries fit into the process', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let direct: ChannelModel;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    direct = await connect(vhost.url);
  });

  afterAll(async () => {
    await direct.close();
    await database.drop();
    await vhost.drop();
  });

  it('is worked off from the table before its deliveries, each timeout once, and leaves none of them behind', async () => {
    const channel = await direct.createChannel();
    const handler = new Burst();
    const engine = await startEngine(database, vhost.url, [handler], { transport: 'ladder', sweep: LATE_SWEEP });
    await until(() => engine.engine.isMessagePathUp);
    const dueAt = new Date(Date.now() + stretched(2_500));
    const requests = Array.from({ length: COUNT }, (_, n) => ({ kind: KIND, key: `b-${n}`, dueAt }));
    await database.dataSource.transaction((tx) => engine.scheduler.schedule(requests, { tx }));
    await engine.settled.done(COUNT);
    const queue = `order-timeout.v1.work.${KIND}`;
    // Only the prefetch was delivered when the table was empty: the other messages were still on the broker.
    expect((await channel.checkQueue(queue)).messageCount).toBeGreaterThan(0);
    // With those in progress: every delivery has to be acknowledged while the process lives.
    const left = async (): Promise<number | undefined> => {
      const path = `/queues/${encodeURIComponent(vhost.name)}/${encodeURIComponent(queue)}`;
      return (await vhost.manage<{ messages?: number }>('GET', path)).messages;
    };
    await until(async () => (await left()) === 0);
    expect(new Set(handler.seen.map(({ key }) => key)).size).toBe(COUNT);
    expect(handler.seen).toHaveLength(COUNT);
    expect(handler.seen.every((due) => due.cause === 'message' && due.dueAt.getTime() <= Date.now())).toBe(true);
    await engine.close();
  });

  it('does not count as lost wake-ups when the sweep helps, in one instance or in two', async () => {
    const handlers = [new Burst(), new Burst()];
    for (const handler of handlers) handler.batchMs = 100;
    const options = { transport: 'ladder', sweep: { marginMs: 1_000, intervalMs: 500 } } as const;
    for (const count of [1, 2]) {
      const running = handlers.slice(0, count).map((handler) => startEngine(database, vhost.url, [handler], options));
      const engines = await Promise.all(running);
      const missed: number[] = [];
      for (const { engine, module } of engines) {
        await until(() => engine.isMessagePathUp);
        module.get(TimeoutObservers).add({ wakeUpsMissed: (_kind, rows) => void missed.push(rows) });
      }
      const dueAt = new Date(Date.now() + stretched(2_500));
      const requests = Array.from({ length: LARGE }, (_, n) => ({ kind: KIND, key: `l-${count}-${n}`, dueAt }));
      await database.dataSource.transaction(async (tx) => engines[0]?.scheduler.schedule(requests, { tx }));
      const done = () => engines.flatMap(({ settled }) => settled.rows);
      await until(() => done().length >= LARGE, 60_000);
      expect(done().some(({ due }) => due.cause === 'sweep')).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await Promise.all(engines.map((engine) => engine.close()));
      expect(missed).toEqual([]);
    }
  }, 120_000);

  it('does not keep waiting what falls due meanwhile', async () => {
    const handler = new Burst();
    const engine = await startEngine(database, vhost.url, [handler], { transport: 'ladder', sweep: LATE_SWEEP });
    await until(() => engine.engine.isMessagePathUp);
    const schedule = async (key: string, count: number, inMs: number): Promise<number> => {
      const dueAt = new Date(Date.now() + inMs);
      const requests = Array.from({ length: count }, (_, n) => ({ kind: KIND, key: `${key}-${n}`, dueAt }));
      await database.dataSource.transaction((tx) => engine.scheduler.schedule(requests, { tx }));
      return dueAt.getTime();
    };
    const open = handler.shut();
    await schedule('together', LARGE, stretched(2_500));
    await until(() => handler.seen.length > 0);
    // Longer than what falls due together counts as new.
    const laterAt = await schedule('later', 10, 2_500);
    await until(() => Date.now() > laterAt);
    open();
    await engine.settled.done(LARGE + 10);
    const turn = handler.seen.findLastIndex(({ key }) => key.startsWith('later'));
    expect(turn).toBeLessThan(LARGE / 4);
    await engine.close();
  }, 120_000);
});

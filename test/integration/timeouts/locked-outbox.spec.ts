import { Logger } from '@nestjs/common';
import { TimeoutHandler, type TimeoutHandlerSingle, type TimeoutOutcome, DONE } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

/** Its next wake-up goes through the outbox, until it may end. */
@TimeoutHandler('again', { batchSize: 1, concurrency: 1 })
class Again implements TimeoutHandlerSingle {
  calls = 0;
  mayEnd = false;

  async handle(): Promise<TimeoutOutcome> {
    this.calls++;
    return this.mayEnd ? DONE : { type: 'retry', counted: false, afterMs: 100, reason: 'not yet' };
  }
}

describe('the engine while another session keeps its outbox locked', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let handler: Again;
  let engine: TestEngine;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    handler = new Again();
    engine = await startEngine(database, vhost.url, [handler], { transport: 'ladder' });
    await until(() => engine.engine.isMessagePathUp);
  });

  afterAll(async () => {
    await engine.close();
    await database.drop();
    await vhost.drop();
  });

  it('says once that it cannot write, and again only after it could', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const told = () => warn.mock.calls.filter(([text]) => String(text).startsWith('could not write'));
    const locked = database.dataSource.createQueryRunner();
    const counts: number[] = [];
    await engine.scheduler.schedule([{ kind: 'again', key: 'a', afterMs: 0 }]);
    for (const round of [1, 2]) {
      await locked.startTransaction();
      await locked.query('LOCK TABLE order_timeout.outbox');
      await until(() => told().length >= round);
      const { calls } = handler;
      await until(() => handler.calls >= calls + 4, 60_000);
      counts.push(told().length);
      await locked.rollbackTransaction();
      const { length } = engine.settled.rows;
      await until(() => engine.settled.rows.length > length);
    }
    await locked.release();
    handler.mayEnd = true;
    await until(() => engine.settled.rows.some(({ outcome }) => outcome.type === 'done'));
    warn.mockRestore();
    expect(counts).toEqual([1, 2]);
  });
});

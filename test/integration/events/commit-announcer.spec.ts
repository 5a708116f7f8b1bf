import { announceAfterCommit, type AnnouncedWakeUp, onAnnouncedCommit } from '../../../src/outbox';
import { createDatabase, type TestDatabase } from '../../support/database';

describe('the announcement after a commit', () => {
  let database: TestDatabase;
  let heard: string[][];
  let stop: () => void;

  beforeAll(async () => {
    database = await createDatabase();
  });

  beforeEach(() => {
    heard = [];
    stop = onAnnouncedCommit(database.dataSource, { wakeUps: (wakeUps) => heard.push(wakeUps.map(({ key }) => key)) });
  });

  afterEach(() => stop());

  afterAll(() => database.drop());

  const wakeUp = (key: string): AnnouncedWakeUp => ({ kind: 'k', key, generation: '1', dueAtMs: 0 });
  const fault = new Error('undone');

  it('comes once per transaction, with everything that was announced in it', async () => {
    await database.dataSource.transaction(async (tx) => {
      announceAfterCommit(tx, [wakeUp('a')]);
      announceAfterCommit(tx, [wakeUp('b'), wakeUp('c')]);
      announceAfterCommit(tx);
      expect(heard).toEqual([]);
    });
    expect(heard).toEqual([['a', 'b', 'c']]);
  });

  it('comes to every listener, and not to one that has stopped', async () => {
    const others: number[] = [];
    const stopOther = onAnnouncedCommit(database.dataSource, { wakeUps: (wakeUps) => others.push(wakeUps.length) });
    await database.dataSource.transaction(async (tx) => announceAfterCommit(tx, [wakeUp('both')]));
    stopOther();
    await database.dataSource.transaction(async (tx) => announceAfterCommit(tx, [wakeUp('one')]));
    expect(heard).toEqual([['both'], ['one']]);
    expect(others).toEqual([1]);
  });

  it('does not come for a transaction that announced nothing, nor for one that rolled back', async () => {
    await database.dataSource.transaction((tx) => tx.query('SELECT 1'));
    const undone = database.dataSource.transaction(async (tx) => {
      announceAfterCommit(tx, [wakeUp('undone')]);
      throw fault;
    });
    await expect(undone).rejects.toBe(fault);
    await database.dataSource.transaction((tx) => tx.query('SELECT 1'));
    expect(heard).toEqual([]);
  });

  it('waits for the outer commit when the announcing transaction is a savepoint', async () => {
    await database.dataSource.transaction(async (tx) => {
      await tx.transaction(async (inner) => announceAfterCommit(inner, [wakeUp('inner')]));
      expect(heard).toEqual([]);
      const undone = tx.transaction(async (inner) => {
        await inner.query('SELECT 1');
        throw fault;
      });
      await expect(undone).rejects.toBe(fault);
      expect(heard).toEqual([]);
    });
    expect(heard).toEqual([['inner']]);
  });

  it('comes for a host’s own query runner, and keeps transactions side by side apart', async () => {
    const [one, two] = [database.dataSource.createQueryRunner(), database.dataSource.createQueryRunner()];
    await one.startTransaction();
    await two.startTransaction();
    announceAfterCommit(one.manager, [wakeUp('one')]);
    announceAfterCommit(two.manager, [wakeUp('two')]);
    await two.commitTransaction();
    expect(heard).toEqual([['two']]);
    await one.rollbackTransaction();
    await one.startTransaction();
    await one.commitTransaction();
    expect(heard).toEqual([['two']]);
    await Promise.all([one.release(), two.release()]);
  });

  it('does not mind being called outside a transaction', () => {
    expect(() => announceAfterCommit(database.dataSource.manager, [wakeUp('nobody')])).not.toThrow();
    expect(heard).toEqual([]);
  });
});

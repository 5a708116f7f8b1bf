import { type DataSource, type EntityManager, type EntitySubscriberInterface } from 'typeorm';
import {
  announceAfterCommit,
  type AnnouncedWakeUp,
  onAnnouncedCommit,
  type OutboxRoute,
} from '../../../src/outbox/outbox';

const wakeUp = (key: string): AnnouncedWakeUp => ({ kind: 'k', key, generation: '1', dueAtMs: 0 });

/** A DataSource and one query runner of it, which tell of commits as TypeORM does. */
function setup() {
  const subscribers: EntitySubscriberInterface[] = [];
  const dataSource = { subscribers } as unknown as DataSource;
  const queryRunner = { data: {}, isTransactionActive: false };
  const tx = { queryRunner } as unknown as EntityManager;
  const tell = (name: 'afterTransactionCommit' | 'afterTransactionRollback', isNested = false) => {
    queryRunner.isTransactionActive = isNested;
    for (const subscriber of subscribers) void subscriber[name]?.({ queryRunner } as never);
  };
  const heard: string[][] = [];
  const woken: OutboxRoute[] = [];
  const relayOf = (route: OutboxRoute) => ({ relay: { route, loop: { wake: () => void woken.push(route) } } });
  onAnnouncedCommit(dataSource, relayOf('event'));
  onAnnouncedCommit(dataSource, relayOf('wake-up'));
  const stop = onAnnouncedCommit(dataSource, { wakeUps: (wakeUps) => void heard.push(wakeUps.map(({ key }) => key)) });
  return { dataSource, subscribers, tx, tell, heard, woken, stop };
}

describe('a commit', () => {
  it('is announced once, with everything its transaction wrote', () => {
    const { tx, tell, heard } = setup();
    announceAfterCommit(tx, [wakeUp('a')]);
    announceAfterCommit(tx);
    announceAfterCommit(tx, [wakeUp('b')]);
    expect(heard).toEqual([]);
    tell('afterTransactionCommit');
    tell('afterTransactionCommit');
    expect(heard).toEqual([['a', 'b']]);
  });

  it('is announced also without a wake-up, for the outbox', () => {
    const { tx, tell, heard, woken } = setup();
    announceAfterCommit(tx);
    tell('afterTransactionCommit');
    expect({ heard, woken }).toEqual({ heard: [], woken: ['event'] });
  });

  it('is not announced when nobody asked for it', () => {
    const { tell, heard } = setup();
    tell('afterTransactionCommit');
    expect(heard).toEqual([]);
  });

  it('is not announced when only a savepoint was released', () => {
    const { tx, tell, heard } = setup();
    announceAfterCommit(tx, [wakeUp('a')]);
    tell('afterTransactionCommit', true);
    expect(heard).toEqual([]);
    tell('afterTransactionCommit');
    expect(heard).toEqual([['a']]);
  });

  it('does not announce what an earlier transaction of the connection took back', () => {
    const { tx, tell, heard } = setup();
    announceAfterCommit(tx, [wakeUp('a')]);
    tell('afterTransactionRollback');
    tell('afterTransactionCommit');
    expect(heard).toEqual([]);
  });

  it('keeps what the outer transaction announces when it goes back to a savepoint', () => {
    const { tx, tell, heard } = setup();
    announceAfterCommit(tx, [wakeUp('a')]);
    tell('afterTransactionRollback', true);
    tell('afterTransactionCommit');
    expect(heard).toEqual([['a']]);
  });

  it('is told to every listener by one subscriber, until each has enough', () => {
    const { dataSource, subscribers, tx, tell, heard, stop } = setup();
    const other = jest.fn();
    onAnnouncedCommit(dataSource, { wakeUps: other });
    stop();
    announceAfterCommit(tx, [wakeUp('a')]);
    tell('afterTransactionCommit');
    expect(subscribers).toHaveLength(1);
    expect(other).toHaveBeenCalledTimes(1);
    expect(heard).toEqual([]);
  });

  it('needs no announcement outside a query runner', () => {
    expect(() => announceAfterCommit({} as EntityManager, [wakeUp('a')])).not.toThrow();
  });
});

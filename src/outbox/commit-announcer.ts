import { type DataSource, type EntityManager, type EntitySubscriberInterface } from 'typeorm';
import { type OutboxRoute } from './outbox-entry';

const MARK = 'order-timeout:announced';

/** A wake-up that the transaction has written. While the message path is down, this process triggers it itself. */
export interface AnnouncedWakeUp {
  readonly kind: string;
  readonly key: string;
  readonly generation: string;
  readonly dueAtMs: number;
}

interface Announced {
  readonly wakeUps: AnnouncedWakeUp[];
  readonly routes: Set<OutboxRoute>;
}

interface Marked {
  [MARK]?: Announced | undefined;
}

/**
 * Remembers that this transaction wrote something that must be announced in this process after its commit.
 *
 * @param routes that it wrote to in the outbox. By default wake-ups if it names some, else events.
 */
export function announceAfterCommit(
  tx: EntityManager,
  wakeUps: readonly AnnouncedWakeUp[] = [],
  routes: Iterable<OutboxRoute> = wakeUps.length > 0 ? ['wake-up'] : ['event'],
): void {
  const data = tx.queryRunner?.data as Marked | undefined;
  if (!data) return;
  const announced = (data[MARK] ??= { wakeUps: [], routes: new Set() });
  for (const wakeUp of wakeUps) announced.wakeUps.push(wakeUp);
  for (const route of routes) announced.routes.add(route);
}

type Listener = (wakeUps: readonly AnnouncedWakeUp[], routes: ReadonlySet<OutboxRoute>) => void;

/** One subscriber per DataSource, because the first one that sees a mark removes it. */
const listenersOf = new WeakMap<DataSource, Set<Listener>>();

/**
 * Calls `listener` after the commit of every marked transaction of this DataSource, the host's own included. Only
 * a latency hint: the polling loops find everything without it. Returns the way to stop that.
 */
export function onAnnouncedCommit(dataSource: DataSource, listener: Listener): () => void {
  const listeners = listenersOf.get(dataSource) ?? subscribe(dataSource);
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function subscribe(dataSource: DataSource): Set<Listener> {
  const listeners = new Set<Listener>();
  const subscriber: EntitySubscriberInterface = {
    afterTransactionCommit({ queryRunner }) {
      const data = queryRunner.data as Marked;
      const announced = data[MARK];
      // A released savepoint announces too; the outer commit is the one that counts.
      if (!announced || queryRunner.isTransactionActive) return;
      data[MARK] = undefined;
      for (const listener of listeners) listener(announced.wakeUps, announced.routes);
    },
    afterTransactionRollback({ queryRunner }) {
      if (!queryRunner.isTransactionActive) (queryRunner.data as Marked)[MARK] = undefined;
    },
  };
  dataSource.subscribers.push(subscriber);
  listenersOf.set(dataSource, listeners);
  return listeners;
}

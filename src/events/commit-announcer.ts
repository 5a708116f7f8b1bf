import { type DataSource, type EntityManager, type EntitySubscriberInterface } from 'typeorm';

const MARK = 'order-timeout:announced';

/** A wake-up that the transaction has written, for a process that has to be its own clock. */
export interface AnnouncedWakeUp {
  readonly kind: string;
  readonly key: string;
  readonly generation: string;
  readonly dueAtMs: number;
}

interface Marked {
  [MARK]?: AnnouncedWakeUp[] | undefined;
}

/** Remembers that this transaction wrote something that others in the process want to know of after its commit. */
export function announceAfterCommit(tx: EntityManager, wakeUps: readonly AnnouncedWakeUp[] = []): void {
  const data = tx.queryRunner?.data as Marked | undefined;
  if (data) (data[MARK] ??= []).push(...wakeUps);
}

/**
 * Calls `listener` after the commit of every marked transaction of this DataSource, the host's own included. Only
 * a latency hint: the polling loops find everything without it. Returns the way to stop that.
 */
export function onAnnouncedCommit(
  dataSource: DataSource,
  listener: (wakeUps: readonly AnnouncedWakeUp[]) => void,
): () => void {
  const subscriber: EntitySubscriberInterface = {
    afterTransactionCommit({ queryRunner }) {
      const data = queryRunner.data as Marked;
      const announced = data[MARK];
      // A released savepoint announces too; the outer commit is the one that counts.
      if (!announced || queryRunner.isTransactionActive) return;
      data[MARK] = undefined;
      listener(announced);
    },
    afterTransactionRollback({ queryRunner }) {
      if (!queryRunner.isTransactionActive) (queryRunner.data as Marked)[MARK] = undefined;
    },
  };
  dataSource.subscribers.push(subscriber);
  return () => {
    const at = dataSource.subscribers.indexOf(subscriber);
    if (at >= 0) dataSource.subscribers.splice(at, 1);
  };
}

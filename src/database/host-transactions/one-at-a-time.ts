import { AsyncLocalStorage } from 'node:async_hooks';

const running = new AsyncLocalStorage<object>();
const lastCalls = new WeakMap<object, Promise<unknown>>();

/**
 * Runs the calls in a caller's transaction one after the other. The savepoints of two at once would lie in each other, so
 * one that is rolled back would take along what the other has reported as written.
 */
export async function oneAtATime<T>(tx: object, work: () => Promise<T>): Promise<T> {
  // Made by a listener of the call that is running. It would wait for itself.
  if (running.getStore() === tx) return work();
  const call = (lastCalls.get(tx) ?? Promise.resolve()).then(() => running.run(tx, work));
  lastCalls.set(
    tx,
    call.catch(() => undefined),
  );
  return call;
}

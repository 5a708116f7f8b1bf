import { AsyncLocalStorage } from 'node:async_hooks';
import { ExpectedRollback } from '../expected-rollback';
import { UnusableTransactionError } from './unusable-transaction-error';

/** A call that is running. The calls that its listeners make wait for each other, and not for it. */
interface Call {
  readonly tx: object;
}

const running = new AsyncLocalStorage<readonly Call[]>();
/** The last call of each transaction that is not over; and within a call, the last one of those that it makes. */
const lastCalls = new WeakMap<object, Promise<unknown>>();

/** Whether this code is part of a call in the transaction, such as a listener. */
export function isWithinCall(tx: object): boolean {
  return (running.getStore() ?? []).some((call) => call.tx === tx);
}

/**
 * Runs the calls in a caller's transaction one after the other. The savepoints of two at once would lie in each other, so
 * one that is rolled back would take along what the other has reported as written.
 *
 * A call that waits behind one that fails is refused: a host that awaits them together rolls back at the first error.
 */
export function oneAtATime<T>(tx: object, work: () => Promise<T>): Promise<T> {
  const within = running.getStore() ?? [];
  const line = within.findLast((call) => call.tx === tx) ?? tx;
  const run = (): Promise<T> => running.run([...within, { tx }], work);
  const last = lastCalls.get(line);
  const call = last
    ? last.then(run, (cause: unknown) => (cause instanceof ExpectedRollback ? run() : refuse(cause)))
    : run();
  lastCalls.set(line, call);
  const leave = (): void => {
    if (lastCalls.get(line) === call) lastCalls.delete(line);
  };
  call.then(leave, leave);
  return call;
}

function refuse(cause: unknown): never {
  throw new UnusableTransactionError(
    'a call in this transaction failed while this one waited for it, so this one was not made; roll back, or handle the ' +
      'error and make this call again',
    { cause },
  );
}

/** Sends a statement, with what else TypeORM or a handler gives beside its text. */
export type Send = (...given: unknown[]) => Promise<unknown>;

/** A query runner of TypeORM, or a client of `pg`. */
interface Sender {
  query(...given: never[]): unknown;
}

/**
 * Puts `wrap` before everything that is sent through a runner. Several may be nested: each one's `send` is what stood there
 * before it.
 *
 * @returns puts back what stood there before: the method of the class, or the one of somebody else.
 */
export function interceptQueries(runner: Sender, wrap: (send: Send) => Send): () => void {
  const own = Object.getOwnPropertyDescriptor(runner, 'query');
  const value = wrap(runner.query.bind(runner) as unknown as Send);
  Object.defineProperty(runner, 'query', { value, configurable: true });
  return () => {
    if (own) Object.defineProperty(runner, 'query', own);
    else Reflect.deleteProperty(runner, 'query');
  };
}

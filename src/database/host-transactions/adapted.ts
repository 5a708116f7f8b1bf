import { type Queryable } from './transaction';

const known = new WeakMap<object, Queryable>();

/** The adapter of a transaction. It is the same each time, so that calls in one transaction can wait for each other. */
export function adapted(tx: object, query: Queryable['query']): Queryable {
  const adapter = known.get(tx) ?? { query };
  known.set(tx, adapter);
  return adapter;
}

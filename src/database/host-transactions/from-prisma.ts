import { adapted } from './adapted';
import { atUtc } from './at-utc';
import { type Queryable } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

/** What Prisma passes to the function of an interactive transaction. */
export interface PrismaTransaction {
  $queryRawUnsafe(sql: string, ...values: unknown[]): PromiseLike<unknown>;
}

/**
 * The transaction of Prisma, for `tx`: `prisma.$transaction((tx) => orders.place(order, { tx: fromPrisma(tx) }))`.
 *
 * @throws UnusableTransactionError for a client, because each of its statements has a transaction of its own.
 */
export function fromPrisma(tx: PrismaTransaction): Queryable {
  if ('$connect' in tx) throw UnusableTransactionError.outside('Prisma');
  const query: Queryable['query'] = async (sql, parameters = []) => ({
    rows: (await tx.$queryRawUnsafe(sql, ...parameters)) as unknown[],
  });
  return adapted(tx, atUtc(query));
}

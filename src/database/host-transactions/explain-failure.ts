import { UnusableTransactionError } from './unusable-transaction-error';

const ENDED = 'this transaction has ended, or was never begun; await each call before your transaction ends';
const ELSEWHERE =
  'the database of this transaction has no tables of this package; pass a transaction of the database that the module ' +
  'is connected to';

/** no_active_sql_transaction, undefined_table, invalid_schema_name. */
const SENTENCES = new Map([
  ['25P01', ENDED],
  ['42P01', ELSEWHERE],
  ['3F000', ELSEWHERE],
]);
/** Where libraries keep the error of the driver, and Prisma keeps the SQLSTATE. */
const INNER = ['cause', 'meta', 'driverAdapterError'];
const MAX_DEPTH = 5;

/** The error of a statement, or the one that says what is wrong with the transaction. */
export function explainFailure(error: unknown): unknown {
  const sentence = statesOf(error, MAX_DEPTH).flatMap((state) => SENTENCES.get(state) ?? [])[0];
  return sentence === undefined ? error : new UnusableTransactionError(sentence, { cause: error });
}

function statesOf(error: unknown, depth: number): string[] {
  if (typeof error !== 'object' || error === null || depth === 0) return [];
  const link = error as Readonly<Record<string, unknown>>;
  const own = [link.code, link.originalCode].filter((code) => typeof code === 'string');
  return [...own, ...INNER.flatMap((name) => statesOf(link[name], depth - 1))];
}

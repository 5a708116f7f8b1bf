import { type DataSource } from 'typeorm';
import { onOwnConnection, STATEMENT_MS } from './on-own-connection';

/**
 * Runs one statement outside of a transaction, in one round trip. Without an answer within nine seconds, it is canceled on
 * the server and its connection is closed; see `onOwnConnection`. A canceled write may be visible and lost again in a
 * failover: a write that is acknowledged to somebody needs `ownTransaction`.
 */
export function ownQuery<T>(dataSource: DataSource, sql: string, parameters?: unknown[]): Promise<T> {
  return onOwnConnection(dataSource, STATEMENT_MS, (runner) => runner.query(sql, parameters) as Promise<T>);
}

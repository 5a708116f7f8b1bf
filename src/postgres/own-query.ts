import { type DataSource } from 'typeorm';
import { onOwnConnection, STATEMENT_MS } from './on-own-connection';

/**
 * One statement outside of a transaction, in one round trip. Answered within nine seconds, or cancelled on the server and
 * its connection closed; see `onOwnConnection`.
 */
export function ownQuery<T>(dataSource: DataSource, sql: string, parameters?: unknown[]): Promise<T> {
  return onOwnConnection(dataSource, STATEMENT_MS, (runner) => runner.query(sql, parameters) as Promise<T>);
}

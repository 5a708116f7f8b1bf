import { type DataSource } from 'typeorm';
import { onOwnConnection, STATEMENT_MS } from './on-own-connection';
import { ReadOnlySessionError } from './read-only-session-error';

const SQL = `SELECT current_setting('transaction_read_only') = 'off' AS can_write`;

/**
 * Whether a session of the pool takes writes. `transaction_read_only` is on in a standby, and where an administrator has
 * made the server, the database or the user read-only. Such a session is closed, because it stays read-only.
 *
 * @throws ReadOnlySessionError, or why the database did not answer
 */
export function canWrite(dataSource: DataSource): Promise<boolean> {
  return onOwnConnection(dataSource, STATEMENT_MS, async (runner) => {
    const [row] = (await runner.query(SQL)) as { can_write: boolean }[];
    if (!row?.can_write) throw new ReadOnlySessionError();
    return true;
  });
}

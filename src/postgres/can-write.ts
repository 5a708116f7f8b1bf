import { type DataSource } from 'typeorm';
import { onOwnConnection, STATEMENT_MS } from './on-own-connection';
import { ReadOnlySessionError } from './read-only-session-error';

const SQL = `SELECT current_setting('transaction_read_only') = 'off' AS can_write`;

/**
 * Whether a session of the pool takes writes: `transaction_read_only` is on in a standby, and where an administrator has
 * switched the server, the database or the user to reading. Then the session is closed: it would stay so for as long as it
 * lives.
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
